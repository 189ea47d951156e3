#!/bin/sh
# Do on this machine what its Node asks for: node-upgrade.sh, as root, by node-upgrade.timer. The Node's annotation
# `gen.internal/upgrade` says what in two words, and when that was asked; the operations `kubernetes-upgrade` and
# `node-maintenance` write it, once the node is cordoned and empty where that is needed:
#   apply VERSION, node VERSION    upgrade Kubernetes
#   patch BOOT                     newer packages of the system, and a reboot where they need one
#   reboot BOOT                    reboot, where BOOT is what runs now
#   files BOOT                     put the files that were brought last in their places
#   certificates BOOT              renew those of this node's control plane; pods run on
# Nobody says by it what is installed or run: all is in the files that were brought here last, which root alone may write,
# and a version must be theirs. What is asked is done once. The answer goes into `gen.internal/upgrade-answer`. Of which
# version the files are, or what is amiss with them, stands in `gen.internal/upgrade-files` at any time, and what else the
# operations must know of this machine in `gen.internal/machine`.
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
for part in state reboot patch files certificates; do
  # shellcheck source-path=SCRIPTDIR/../lib/gen-upgrade disable=SC1090 # each is looked at by itself
  . "$root/usr/local/lib/gen-upgrade/$part.sh"
done

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
    apt update
    for one; do set -- "$@" "$one=$version-*" && shift; done
    apt install --allow-change-held-packages "$@"
  elif command -v dnf >/dev/null; then
    for one; do set -- "$@" "$one-$version" && shift; done
    do_it dnf install --assumeyes --disableexcludes=kubernetes "$@"
  else
    fail "neither apt-get nor dnf is here: install $* $version, then ask again"
  fi
}

read_request() { # sets asked, how and what; and what was told before: of the files, and of the machine
  said=$(kubectl get node "$node" --output "jsonpath={.spec.unschedulable}|{$notes-files}|{.metadata.annotations.gen\.internal/machine}|{$notes}")
  cordoned=${said%%|*} said=${said#*|}
  reported=${said%%|*} said=${said#*|}
  before=${said%%|*} asked=${said#*|}
  how=${asked%% *} what=${asked#* } what=${what%% *}
}

read_files() { # sets folder, file, and brought: their version; or amiss: why they are of no use
  brought='' amiss="/etc/gen-upgrade/folder names no folder that is here: run prepare.sh again"
  folder=$(cat "$root/etc/gen-upgrade/folder" 2>/dev/null) && folder=$(cd "$folder" 2>/dev/null && pwd -P) || return 0
  file=$folder/kubeadm/upgrade.yaml pool=$(cat "$root/etc/gen-upgrade/pool")
  amiss="$file names no version: bring the files of bootstrap/ to this node"
  found=$(sed -n 's/^ *kubernetesVersion: "\{0,1\}v\([0-9.]*\)"\{0,1\}$/\1/p' "$file" 2>/dev/null) || return 0
  [ -n "$found" ] || return 0
  amiss=$(others_write)
  [ -n "$amiss" ] || brought=$found
}

others_write() { # says which of the files that root runs and copies somebody else may write, or replace
  me=$(stat -c %u /proc/self)
  set -- "$root/usr/local/sbin/node-upgrade.sh" "$root/usr/local/lib/gen-upgrade" "$root/etc/gen-upgrade" "$folder/node" "$folder/kubeadm"
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

report() { # of which version the files are, and what else is known: before anything is asked
  [ "${brought:-$amiss}" = "$reported" ] || note "upgrade-files=${brought:-$amiss}"
  look
  [ -n "$told" ] || return 0
  [ "$told" = "$before" ] || note "machine=$told"
  conditions
}

note() { # an annotation
  kubectl annotate --overwrite node "$node" "gen.internal/$1" >/dev/null || true
}

upgrade() { # to the version of the files
  [ "$brought" = "$version" ] || fail "$file says $brought: bring the files of bootstrap/ to this node first"
  [ "$(kubeadm version --output short 2>/dev/null)" = "v$version" ] || install kubeadm
  do_it sh "$folder/node/prepare.sh" "$pool"
  case $how in
    apply) do_it kubeadm upgrade apply --yes --config "$file" ;;
    node) do_it kubeadm upgrade node --config "$file" ;;
  esac
  install kubelet kubectl
  do_it systemctl daemon-reload
  do_it systemctl restart kubelet
}

main() {
  [ "$(id -u)" = 0 ] || { echo "node-upgrade.sh: must run as root" >&2; exit 1; }
  mkdir -p "$state"
  exec 9>"$state/lock"
  flock -n 9 || exit 0
  put_back
  # shellcheck disable=SC2034 # the parts read it
  boot=$(cat "$root/proc/sys/kernel/random/boot_id")
  read_request
  read_files
  report
  [ -n "$asked" ] || exit 0
  # However many words it has: what is not known for answered would be done with each run.
  case $(cat "$state/answer" 2>/dev/null) in "$asked: "*) tell; exit 0 ;; esac
  case ${asked##* } in *[!0-9A-Za-z:-]*) fail "it is asked in other words than operations ask in" ;; esac
  [ "$cordoned" = true ] || [ "$how" = certificates ] || fail "$node is not cordoned"
  [ -n "$brought" ] || fail "$amiss"
  words='done'
  : >"$state/log"
  case $how in
    apply | node) version=$what && upgrade ;;
    patch) renew_packages; words="done: kernel $(uname -r)" ;;
    reboot) go_down; words="done: kernel $(uname -r)" ;;
    files) take_files ;;
    certificates) renew_certificates ;;
    *) fail "$how is nothing that is done here" ;;
  esac
  report
  finish "$words"
  tell
}

# One command, read whole: prepare.sh may write this very file.
main; exit
