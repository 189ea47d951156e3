#!/bin/sh
# The files that were brought here last, a part of node-upgrade.sh: put in their places, and what reads them started anew.
# shellcheck disable=SC2154 # node-upgrade.sh sets and reads them

take_files() {
  installed=$(kubeadm version --output short)
  [ "$installed" = "v$brought" ] || fail "the files are those of $brought, kubeadm is $installed: kubernetes-upgrade comes first"
  do_it sh "$folder/node/prepare.sh" "$pool"
  do_it kubeadm upgrade node phase kubelet-config --config "$file"
  do_it systemctl daemon-reload
  do_it systemctl restart kubelet
}
