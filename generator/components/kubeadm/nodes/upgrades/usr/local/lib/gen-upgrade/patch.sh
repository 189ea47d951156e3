#!/bin/sh
# Newer packages of the system, a part of node-upgrade.sh, and a reboot where they need one. What Kubernetes, containers
# and devices run by stays as it is, and is held from now on: kubernetes-upgrade and whoever brings drivers change it.
# shellcheck disable=SC2154,SC2034 # node-upgrade.sh sets and reads them
kept='cri-tools containerd* cuda-* doca-* kubeadm kubectl kubelet kubernetes-cni libcuda* libnvidia-* linux-modules-nvidia-*
mlnx-* nvidia-* ofed-* runc'

renew_packages() {
  # Ubuntu would restart services, containerd among them; a reboot does.
  export NEEDRESTART_SUSPEND=1
  if command -v apt-get >/dev/null; then
    calmed
    # What a killed run left; nobody answers questions of it.
    do_it dpkg --force-confdef --force-confold --configure -a
    hold
    apt update
    apt upgrade --with-new-pkgs
  elif command -v dnf >/dev/null; then
    do_it dnf upgrade --assumeyes --exclude="$(echo "$kept" | tr ' \n' ,,)"
  else
    fail "neither apt-get nor dnf is here"
  fi
  rm -f "$state/restarting"
  waits_for_reboot || return 0
  [ "$what" = "$boot" ] || fail "it has booted since it was asked, and waits for a reboot still: begin again"
  go_down
}

apt() { # its words; settings stay as they are here
  calmed
  do_it apt-get --yes --quiet -o DPkg::Lock::Timeout=900 -o Dpkg::Options::=--force-confdef \
    -o Dpkg::Options::=--force-confold "$@"
}

calmed() { # the system's own timers, which begin when a machine has booted, end their work on packages first
  by 1800 calm || fail "apt-daily has worked on packages for half an hour: look at it, then begin again"
}

calm() {
  case $(systemctl show --property=ActiveState apt-daily.service apt-daily-upgrade.service) in *activating*) return 1 ;; esac
}

hold() { # those that are installed
  set --
  for package in $(dpkg-query --show --showformat '${db:Status-Abbrev}${Package}\n' | sed -n 's/^[ih]i //p'); do
    for pattern in $kept; do
      # shellcheck disable=SC2254 # it is a pattern
      case $package in $pattern) set -- "$@" "$package" ;; esac
    done
  done
  [ $# = 0 ] || do_it apt-mark hold "$@"
}
