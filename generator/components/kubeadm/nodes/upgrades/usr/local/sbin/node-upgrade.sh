#!/bin/sh
# Upgrade Kubernetes on this machine when its Node asks for it: node-upgrade.sh, as root, by node-upgrade.timer. The Node's
# annotation `gen.internal/upgrade` says `apply` or `node`, the version, and when that was asked; the operation
# `kubernetes-upgrade` writes it once the node is cordoned and empty. Nobody says by it what is installed: the version must
# be that of the files which were brought here last. The answer goes into the annotation `gen.internal/upgrade-answer`.
# Of which version these files are, or what is amiss with them, stands in `gen.internal/upgrade-files` at any time.
#   FOLDER/kubeadm/upgrade.yaml   the version, and what kubeadm is told
#   /etc/gen-upgrade/folder       FOLDER, and in `pool` this node's pool: prepare.sh writes both
#   /var/lib/gen-upgrade/log      what was said last
# Safe to kill and to run again: kubeadm goes on where it was, and packages that are there stay.
set -eu
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

# Elsewhere in tests only.
root=${GEN_ROOT:-}
state=$root/var/lib/gen-upgrade
export KUBECONFIG="$root/etc/kubernetes/kubelet.conf"
notes='.metadata.annotations.gen\.internal/upgrade'
node=$(hostname -s | tr '[:upper:]' '[:lower:]')

finish() { # words: how it ended, first on this disk, for the API server may be away
  printf '%s: %s\n' "$asked" "$1" >"$state/answer.new"
  mv "$state/answer.new" "$state/answer"
}

fail() {
  finish "failed: $*"
  tell
  echo "node-upgrade.sh: $*" >&2
  exit 1
}

tell() { # the next run of the timer tells it where nobody answers
  kubectl annotate --overwrite node "$node" "gen.internal/upgrade-answer=$(cat "$state/answer")" >/dev/null || true
}

do_it() { # a program and its words, into the log
  echo "$(date -u +%FT%TZ) $*" >>"$state/log"
  "$@" >>"$state/log" 2>&1 || fail "$1 ${2:-}: $(tail -n 1 "$state/log" | cut -c 1-200)"
}

install() { # names of packages: in this version, from the repositories that the machine has
  if command -v apt-get >/dev/null; then
    do_it apt-get update --quiet
    for one; do set -- "$@" "$one=$version-*" && shift; done
    do_it apt-get install --yes --quiet --allow-change-held-packages "$@"
  elif command -v dnf >/dev/null; then
    for one; do set -- "$@" "$one-$version" && shift; done
    do_it dnf install --assumeyes --disableexcludes=kubernetes "$@"
  else
    fail "neither apt-get nor dnf is here: install $* $version, then ask again"
  fi
}

read_request() { # sets asked, how and version, and reported: what this machine said of its files
  said=$(kubectl get node "$node" --output "jsonpath={.spec.unschedulable}|{$notes-files}|{$notes}")
  reported=${said#*|} asked=${said##*|}
  reported=${reported%%|*} how=${asked%% *} version=${asked#* } version=${version%% *}
}

read_files() { # sets folder, file, and brought: their version; or amiss: why they are of no use
  brought='' amiss="/etc/gen-upgrade/folder names no folder that is here: run prepare.sh again"
  folder=$(cat "$root/etc/gen-upgrade/folder" 2>/dev/null) && folder=$(cd "$folder" 2>/dev/null && pwd -P) || return 0
  file=$folder/kubeadm/upgrade.yaml
  amiss="$file names no version: bring the files of bootstrap/ to this node"
  found=$(sed -n 's/^ *kubernetesVersion: "\{0,1\}v\([0-9.]*\)"\{0,1\}$/\1/p' "$file" 2>/dev/null) || return 0
  [ -n "$found" ] || return 0
  amiss=$(others_write)
  [ -n "$amiss" ] || brought=$found
}

others_write() { # says which of the files that root runs and copies somebody else may write, or replace
  me=$(stat -c %u /proc/self)
  set -- "$root/usr/local/sbin/node-upgrade.sh" "$root/etc/gen-upgrade" "$folder/node" "$folder/kubeadm"
  found=$(find "$@" \( -type l -o ! -user "$me" -o -perm /002 -o -perm /020 ! -group 0 \) -print -quit 2>&1 || true)
  above=$folder
  while [ -z "$found" ]; do
    found=$(find "$above" -maxdepth 0 \( ! -user "$me" ! -user 0 -o ! -perm -1000 \( -perm /002 -o -perm /020 ! -group 0 \) \))
    if [ "$above" = / ]; then break; fi
    above=$(dirname "$above")
  done
  [ -z "$found" ] || echo "$found is not root's alone: bring the files, as root, to a folder that only root may write," \
    "such as /var/lib/gen/bootstrap, and run prepare.sh there"
}

report() { # of which version the files are: before anything is asked, so that no node is emptied in vain
  [ "${brought:-$amiss}" = "$reported" ] ||
    kubectl annotate --overwrite node "$node" "gen.internal/upgrade-files=${brought:-$amiss}" >/dev/null || true
}

main() {
  [ "$(id -u)" = 0 ] || { echo "node-upgrade.sh: must run as root" >&2; exit 1; }
  mkdir -p "$state"
  exec 9>"$state/lock"
  flock -n 9 || exit 0
  read_request
  read_files
  report
  [ -n "$asked" ] || exit 0
  if [ -f "$state/answer" ] && [ "$(cut -d ' ' -f 1-3 "$state/answer")" = "$asked:" ]; then tell; exit 0; fi
  [ "${said%%|*}" = true ] || fail "$node is not cordoned"
  [ -n "$brought" ] || fail "$amiss"
  [ "$brought" = "$version" ] || fail "$file says $brought: bring the files of bootstrap/ to this node first"
  : >"$state/log"
  [ "$(kubeadm version --output short 2>/dev/null)" = "v$version" ] || install kubeadm
  do_it sh "$folder/node/prepare.sh" "$(cat "$root/etc/gen-upgrade/pool")"
  case $how in
    apply) do_it kubeadm upgrade apply --yes --config "$file" ;;
    node) do_it kubeadm upgrade node --config "$file" ;;
    *) fail "$how is neither apply nor node" ;;
  esac
  install kubelet kubectl
  do_it systemctl daemon-reload
  do_it systemctl restart kubelet
  finish "done"
  tell
}

# One command, read whole: prepare.sh may write this very file.
main; exit
