#!/bin/sh
# The certificates of this node's control plane, a part of node-upgrade.sh: copied aside, renewed by kubeadm, and each of
# its programs started anew, one after the other: they read theirs when they start. A manifest whose name begins with a
# dot is none to kubelet.
# shellcheck disable=SC2154,SC2034 # node-upgrade.sh sets and reads them
manifests=$root/etc/kubernetes/manifests
aside=.gen-restarts

put_back() { # what a killed run took away
  for each in "$manifests"/.*"$aside"; do
    [ ! -f "$each" ] || mv "$each" "$manifests/$(basename "${each%"$aside"}" | cut -c 2-)"
  done
}

renew_certificates() {
  [ -f "$manifests/kube-apiserver.yaml" ] || fail "$node is no node of the control plane"
  for program in crictl openssl; do
    command -v $program >/dev/null || fail "$program is not here: install its package, then begin again"
  done
  port=$(sed -n 's/^ *- --secure-port=//p' "$manifests/kube-apiserver.yaml")
  copy_aside
  do_it kubeadm certs renew all
  trap put_back EXIT
  for part in etcd kube-apiserver kube-controller-manager kube-scheduler kube-vip; do
    [ ! -f "$manifests/$part.yaml" ] || start_anew "$part"
  done
  etcd=$(sed -n 's/^ *- --listen-client-urls=https:..//p' "$manifests/etcd.yaml" | cut -d , -f 1)
  shows "$etcd" etcd/server.crt
  shows "127.0.0.1:$port" apiserver.crt
  words="done: until $(first_end)"
}

copy_aside() { # once for what is asked; older ones go after a month: what is asked anew may be so because it failed
  copy=$state/kubernetes-${asked##* }
  [ ! -d "$copy" ] || return 0
  rm -rf "$state"/kubernetes-*.new
  find "$state" -maxdepth 1 -name 'kubernetes-*' -mtime +30 -exec rm -rf {} +
  (umask 077 && mkdir "$copy.new")
  do_it cp -a "$root/etc/kubernetes/." "$copy.new"
  chmod 0700 "$copy.new"
  touch "$copy.new"
  mv "$copy.new" "$copy"
}

start_anew() { # a static pod
  former=$(running "$1")
  mv "$manifests/$1.yaml" "$manifests/.$1.yaml$aside"
  by 180 gone "$1" || fail "$1 does not stop: \`crictl ps\` there tells more"
  put_back
  by 300 runs "$1" || fail "$1 does not start again: \`crictl logs\` of its container tells why; its files from before lie in $copy"
}

running() { # a container's name
  crictl --runtime-endpoint unix:///run/containerd/containerd.sock ps --quiet --state Running --name "^$1\$"
}

gone() { [ -z "$(running "$1")" ]; }

runs() { # anew, and the API server of this node says that it is ready, and its etcd
  now=$(running "$1") && [ -n "$now" ] && [ "$now" != "$former" ] &&
    kubectl --server "https://127.0.0.1:$port" --tls-server-name kubernetes get --raw /readyz >/dev/null
}

by() { # seconds, and what must be so by then
  left=$1 && shift
  until "$@" 2>>"$state/log"; do
    [ "$left" -gt 0 ] || return 1
    left=$((left - 2))
    sleep "${GEN_MOMENT:-2}"
  done
}

shows() { # address and certificate: what is shown there is that of the file
  found=$(openssl s_client -connect "$1" </dev/null 2>/dev/null | openssl x509 -noout -serial 2>/dev/null) || found='none'
  [ "$found" = "$(openssl x509 -noout -serial -in "$root/etc/kubernetes/pki/$2")" ] || fail "$1 does not show the new $2: $found"
}
