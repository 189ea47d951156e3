#!/bin/sh
# A reboot of this machine, a part of node-upgrade.sh. What was asked names the boot in which it was asked: in any other
# boot it has been done, whatever else is lost, so that nothing that is asked once reboots a machine twice.
# shellcheck disable=SC2154 # node-upgrade.sh sets and reads them

go_down() {
  [ "$what" = "$boot" ] || return 0
  if [ "$(cat "$state/going-down" 2>/dev/null)" = "$asked" ]; then
    # systemd waits for kubelet, which ends its pods.
    [ -n "$(find "$state/going-down" -mmin -15)" ] || fail "it was to reboot a quarter of an hour ago, and still runs"
    exit 0
  fi
  echo "$asked" >"$state/going-down"
  sync "$state/going-down"
  do_it systemctl reboot
  exit 0
}
