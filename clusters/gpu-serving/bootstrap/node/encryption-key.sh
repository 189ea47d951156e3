#!/bin/sh
# Written by gen. Do not edit; instead: clusters/gpu-serving/cluster.yaml
# Make the key that encrypts Secrets in etcd: ./encryption-key.sh PROVIDER (secretbox or aescbc), as root, on the
# first control-plane node only. Copy the file to the others before they join; it must be the same everywhere.
set -eu

provider=${1:?usage: ./encryption-key.sh secretbox|aescbc}
file=/etc/kubernetes/enc/encryption.yaml
case $provider in secretbox | aescbc) ;; *) echo "encryption-key.sh: $provider is not secretbox or aescbc" >&2; exit 1 ;; esac
if [ -e "$file" ]; then
  echo "encryption-key.sh: $file exists; a new key would make every Secret unreadable. Nothing was changed." >&2
  exit 1
fi

umask 077
mkdir -p /etc/kubernetes/enc
key=$(head -c 32 /dev/urandom | base64)
cat >"$file.new" <<EOF
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets]
    providers:
      - $provider:
          keys:
            - name: key1
              secret: $key
      - identity: {}
EOF
mv "$file.new" "$file"
echo "made $file"
echo "Copy it to a safe place outside the cluster now: without it, no etcd backup can be read."
