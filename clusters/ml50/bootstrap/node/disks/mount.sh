#!/bin/sh
# Written by gen. Do not edit; instead: clusters/ml50/cluster.yaml
# Make filesystems and mounts of the disks in NODE.list: ./mount.sh NODE.list shows what would be done, with --yes
# does it. A disk that holds anything, a partition table included, is never touched. Safe to run again.
set -eu

list=${1:?usage: ./mount.sh NODE.list [--yes]}
act=${2:-}
# Elsewhere in tests only.
dev=${GEN_DEV:-/dev/disk}
fstab=${GEN_FSTAB:-/etc/fstab}
failed=0

find_disk() { # kind name [number]
  case $1 in
  id) echo "$dev/by-id/$2" ;;
  path) echo "$dev/by-path/$2" ;;
  model)
    for link in "$dev"/by-id/*-"$2"_*; do
      # Partitions, and the second name that udev gives a namespace, are not disks of their own.
      case ${link##*"$2"_} in *-part* | *_*) continue ;; esac
      [ -e "$link" ] && echo "$link"
    done | sort | sed -n "${3}p"
    ;;
  esac
}

# Plan first: nothing is touched when a disk is missing or in use.
plan=$(mktemp)
trap 'rm -f "$plan"' EXIT
while read -r filesystem mount group kind name number; do
  case $filesystem in '' | '#'*) continue ;; esac
  disk=$(find_disk "$kind" "$name" "${number:-1}")
  if [ -z "$disk" ] || [ ! -e "$disk" ]; then
    echo "$mount: no disk $kind $name ${number:-}" >&2
    failed=1
    continue
  fi
  if grep -q "^[^#][^ ]* $mount " "$fstab" 2>/dev/null; then
    echo "$mount: is in $fstab already"
    continue
  fi
  if [ -n "$(wipefs --no-act --parsable "$disk" 2>/dev/null)" ] || [ "$(lsblk --noheadings --list "$disk" | wc -l)" -gt 1 ]; then
    echo "$mount: $disk is not empty; nothing is done to it (to give it up: wipefs --all $disk)" >&2
    failed=1
    continue
  fi
  echo "$filesystem $mount $group $disk" >>"$plan"
  echo "$mount: mkfs.$filesystem on $disk"
done <"$list"

[ $failed = 0 ] || { echo "nothing was changed" >&2; exit 1; }
[ "$act" = --yes ] || { echo "dry run: add --yes to do this"; exit 0; }
while read -r filesystem mount group disk; do
  "mkfs.$filesystem" "$disk" >/dev/null
  uuid=$(blkid --match-tag UUID --output value "$disk")
  mkdir -p "$mount"
  # A mount point that is not mounted must not take data: writing there would fill the system disk.
  chattr +i "$mount" 2>/dev/null || true
  echo "UUID=$uuid $mount $filesystem defaults,noatime,nofail 0 2" >>"$fstab"
  mount --fstab "$fstab" "$mount"
  chgrp "$group" "$mount"
  chmod 0775 "$mount"
  echo "$mount: mounted"
done <"$plan"
