#!/bin/sh
# Written by gen. Do not edit; instead: clusters/gpu-serving/cluster.yaml
# This node's firewall, as root:
#   gen-firewall.sh check            whether the kernel takes /etc/gen-firewall/rules.nft; changes nothing
#   gen-firewall.sh apply [SECONDS]  apply it on trial: what was there before comes back after SECONDS (120)
#   gen-firewall.sh confirm          keep what is on trial, now and after a restart
#   gen-firewall.sh status           what is in force
#   gen-firewall.sh off              take the firewall away, now and after a restart
# `start`, by gen-firewall.service, loads what was confirmed last. Only the table `inet gen` is ever touched. Safe to
# kill and to run again: the way back is under way before anything is applied.
set -eu
export LC_ALL=C

# Elsewhere in tests only.
root=${GEN_ROOT:-}
rules=$root/etc/gen-firewall/rules.nft
state=$root/var/lib/gen-firewall
confirmed=$state/confirmed.nft
trial=$state/trial

fail() {
  echo "gen-firewall.sh: $*" >&2
  exit 1
}

lock() { # one at a time; killed ones hold nothing
  mkdir -p "$state"
  exec 9>"$state/lock"
  flock 9
}

forget() { # what is on trial: whoever would take it back finds nothing to do
  rm -f "$trial" "$trial.applied" "$trial.nft"
}

open() { # no firewall: the table is made first, so that it can be deleted whether or not it was there
  printf 'add table inet gen\ndelete table inet gen\n' | nft -f -
}

restore() { # what was confirmed last. A node that lets in too much can be mended, one that nobody reaches cannot
  if [ -f "$confirmed" ]; then
    nft -f "$confirmed" || open
  else
    open
  fi
}

check() {
  [ -f "$rules" ] || fail "$rules is not there: run prepare.sh with this node's pool"
  nft --check --file "$rules" || fail "the kernel does not take $rules; nothing was changed"
}

apply() { # seconds
  case $1 in '' | *[!0-9]* | 0) fail "apply: $1 is no number of seconds, as in \`apply 120\`" ;; esac
  check
  lock
  token=$$-$(date +%s%N)
  cp "$rules" "$trial.nft"
  echo "$token" >"$trial"
  # Of no session and without a terminal: it stays when the connection that started it breaks.
  setsid sh "$0" back "$1" "$token" </dev/null >/dev/null 2>&1 9>&- &
  if ! nft --file "$trial.nft"; then
    forget
    fail "not applied; nothing was changed"
  fi
  echo "$token" >"$trial.applied"
  echo "applied for $1 seconds. Now open a NEW connection to this node, and there: gen-firewall.sh confirm"
}

back() { # seconds, token: take back what is on trial, if it is still the same
  sleep "$1"
  lock
  [ "$(cat "$trial" 2>/dev/null)" = "$2" ] || exit 0
  restore
  forget
  logger -t gen-firewall "nobody confirmed: took back what was on trial" 2>/dev/null || true
}

confirm() {
  lock
  # Killed on its way, `apply` leaves what was never tried.
  cmp -s "$trial" "$trial.applied" || fail "nothing is on trial (any more): \`gen-firewall.sh apply\` first"
  sync "$trial.nft"
  mv "$trial.nft" "$confirmed"
  forget
  sync "$state"
  echo "confirmed: in force now and after each restart"
}

start() { # after a restart: what was on trial is not
  lock
  forget
  restore
}

off() {
  lock
  forget
  rm -f "$confirmed"
  open
  echo "off: this node lets in everything, now and after each restart"
}

status() {
  loaded=no
  if nft list table inet gen >/dev/null 2>&1; then loaded=yes; fi
  echo "in force: $loaded"
  if [ -f "$trial" ]; then echo "on trial: yes, it is taken back unless somebody confirms it"; fi
  if [ ! -f "$confirmed" ]; then
    echo "confirmed: nothing"
  elif cmp -s "$confirmed" "$rules"; then
    echo "confirmed: what the cluster file says"
  else
    echo "confirmed: other rules than $rules"
  fi
}

[ "$(id -u)" = 0 ] || fail "must run as root"
command -v nft >/dev/null || fail "nft is not installed: install the package \`nftables\`"
case ${1:-} in
  check | confirm | status | off | start) "$1" ;;
  apply) apply "${2:-120}" ;;
  back) back "$2" "$3" ;;
  *) fail "say one of: check, apply [SECONDS], confirm, status, off" ;;
esac
