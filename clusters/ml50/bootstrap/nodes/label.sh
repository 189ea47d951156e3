#!/bin/sh
# Written by gen. Do not edit; instead: clusters/ml50/cluster.yaml
# Give nodes that have joined the labels and taints of the cluster file: ./label.sh labels.list, with a kubeconfig that
# may. Each line of the list: label or taint, the node, what to set (key=value, key=value:Effect), or to remove (key-).
set -eu

list=${1:?usage: ./label.sh labels.list}
failed=0
while read -r what node changes; do
  case $what in '' | '#'*) continue ;; esac
  # shellcheck disable=SC2086 # several changes, each one word
  kubectl "$what" node "$node" --overwrite $changes || failed=1
done <"$list"
[ $failed = 0 ] || echo "label.sh: some nodes were not there or refused: join them, then run again" >&2
exit $failed
