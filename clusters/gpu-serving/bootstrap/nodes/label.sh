#!/bin/sh
# Written by gen. Do not edit; instead: clusters/gpu-serving/cluster.yaml
# Give nodes that have joined the labels and taints of the cluster file: ./label.sh labels.list, with a kubeconfig that
# may. Each line of the list: label or taint, the node, what to set (key=value, key=value:Effect), or to remove (key-).
set -eu

list=${1:?usage: ./label.sh labels.list}
failed=
while read -r what node changes; do
  case $what in '' | '#'*) continue ;; esac
  # shellcheck disable=SC2086 # several changes, each one word
  kubectl "$what" node "$node" --overwrite $changes && continue
  case "$failed " in *" $node "*) ;; *) failed="$failed $node" ;; esac
done <"$list"
[ -n "$failed" ] || exit 0
echo "label.sh: not all was set on$failed, for the reasons above; everywhere else it was. A node that has not joined gets" \
  "its labels and taints when it joins. For any other, mend what kubectl names and run this again." >&2
exit 1
