#!/bin/sh
# Written by gen. Do not edit; instead: clusters/gpu-serving/cluster.yaml
# Write the file by which other nodes find and trust this cluster: ./discovery.sh, as root, on the first control-plane
# node. It holds a token that ends after two hours: copy it to the nodes that join, never into Git.
set -eu

file=/etc/kubernetes/discovery.conf
admin=/etc/kubernetes/admin.conf
umask 077
token=$(kubeadm token create --kubeconfig "$admin" --ttl 2h --description 'joining nodes')
kubectl --kubeconfig "$admin" config view --raw --minify -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' |
  base64 -d >"$file.ca"
server=$(kubectl --kubeconfig "$admin" config view --minify -o jsonpath='{.clusters[0].cluster.server}')
rm -f "$file.new"
kubectl --kubeconfig "$file.new" config set-cluster cluster --server "$server" --certificate-authority "$file.ca" --embed-certs >/dev/null
kubectl --kubeconfig "$file.new" config set-credentials joining --token "$token" >/dev/null
kubectl --kubeconfig "$file.new" config set-context joining --cluster cluster --user joining >/dev/null
kubectl --kubeconfig "$file.new" config use-context joining >/dev/null
rm "$file.ca"
mv "$file.new" "$file"
echo "made $file: good for two hours"
