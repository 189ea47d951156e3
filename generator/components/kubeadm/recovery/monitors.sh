#!/bin/sh
# Data of a Ceph monitor made of what the disks of OSDs know, where no monitor's own is left. As root in a container of
# Ceph's image, while no OSD runs:
#   monitors.sh collect STORE DISK...              add what these OSDs know to STORE; then bring STORE to the next node
#   monitors.sh rebuild STORE KEYRING ID ADDRESS   make STORE.mon, the data of monitor ID, once every OSD was collected
# KEYRING has the keys of `mon.` and `client.admin`. What only monitors know does not come back: keys of encrypted disks,
# maps of filesystems, settings. Each may be killed and run again.
set -eu
export LC_ALL=C

fail() {
  echo "monitors.sh: $*" >&2
  exit 1
}

label() { # key, label of a disk: what it says
  printf %s "$2" | sed -n "s/^ *\"$1\": \"\(.*\)\",*$/\1/p"
}

same_cluster() { # fsid: of the first disk that was collected, and of all others
  [ -e "$store.fsid" ] || echo "$1" >"$store.fsid"
  [ "$(cat "$store.fsid")" = "$1" ] ||
    fail "$disk is of the cluster $1, and what was collected before of $(cat "$store.fsid")"
}

collect() {
  [ $# -gt 0 ] || fail "usage: monitors.sh collect STORE DISK..."
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$store"
  for disk; do
    said=$(ceph-bluestore-tool show-label --dev "$disk" 2>&1) ||
      fail "$disk is no disk of an OSD, or encrypted, and the keys are with the monitors: $said"
    osd=$(label whoami "$said")
    [ -n "$osd" ] || fail "$disk belongs to an OSD, but is not its main disk"
    same_cluster "$(label ceph_fsid "$said")"
    mkdir "$work/$osd"
    ceph-bluestore-tool prime-osd-dir --dev "$disk" --path "$work/$osd" >/dev/null
    ln -s "$disk" "$work/$osd/block"
    ceph-objectstore-tool --no-mon-config --data-path "$work/$osd" --op update-mon-db --mon-store-path "$store" ||
      fail "osd.$osd on $disk gave nothing: does it still run?"
    echo "collected osd.$osd of $disk"
  done
}

rebuild() {
  [ $# = 3 ] || fail "usage: monitors.sh rebuild STORE KEYRING ID ADDRESS"
  [ -d "$store" ] || fail "$store is not there: collect it first, on every node with disks of Ceph"
  keyring=$1
  made=$store.new
  rm -rf "$made"
  cp -a "$store" "$made"
  monmaptool --create --clobber --fsid "$(cat "$store.fsid")" --addv "$2" "[v2:$3/0]" "$store.monmap" >/dev/null
  ceph-monstore-tool "$made" rebuild -- --keyring "$keyring" --mon-ids "$2" --monmap "$store.monmap" >/dev/null 2>"$store.log" ||
    fail "no monitor could be made of it: see $store.log"
  ceph-mon -i "$2" --mon-data "$made" --inject-monmap "$store.monmap" 2>>"$store.log" ||
    fail "the monitor does not take its address: see $store.log"
  rm -rf "$store.mon"
  mv "$made" "$store.mon"
  echo "made $store.mon: monitor $2 at $3 of cluster $(cat "$store.fsid")"
}

what=${1-} store=${2-}
[ -n "$store" ] || fail "usage: monitors.sh collect STORE DISK... | rebuild STORE KEYRING ID ADDRESS"
shift 2
case $what in
collect | rebuild) "$what" "$@" ;;
*) fail "usage: monitors.sh collect STORE DISK... | rebuild STORE KEYRING ID ADDRESS" ;;
esac
