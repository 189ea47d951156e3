#!/bin/sh
# Make filesystems and mounts of the disks in NODE.list: ./mount.sh NODE.list shows what would be done, with --yes
# does it. A disk that holds anything, a partition table included, is never touched. Safe to run again: what is listed
# in fstab already is mounted if it is not, and stays as it is. After a disk was replaced, run it again (see README).
set -eu

list=${1:?usage: ./mount.sh NODE.list [--yes]}
act=${2:-}
# Elsewhere in tests only.
dev=${GEN_DEV:-/dev/disk}
fstab=${GEN_FSTAB:-/etc/fstab}
proc=${GEN_PROC:-/proc}
failed=0
plan=$(mktemp)
trap 'rm -f "$plan"' EXIT

refuse() {
  echo "$*" >&2
  failed=1
}

listed() { # mount point: what fstab mounts there
  awk -v mount="$1" '$1 !~ /^#/ && $2 == mount { print $1; exit }' "$fstab"
}

is_gone() { # source of a mount
  case $1 in UUID=*) [ ! -e "$dev/by-uuid/${1#UUID=}" ] ;; *) false ;; esac
}

candidates() { # kind name: the disks that may be meant
  case $1 in
  id) echo "$dev/by-id/$2" ;;
  path) echo "$dev/by-path/$2" ;;
  model)
    for link in "$dev"/by-id/*-"$2"_*; do
      # Partitions, and the second name that udev gives a namespace, are not disks of their own.
      case ${link##*"$2"_} in *-part* | *_*) continue ;; esac
      echo "$link"
    done
    ;;
  esac
}

used_by() { # disk: who uses it, empty where nobody is known to
  lsblk --noheadings --raw --output MAJ:MIN,TYPE,UUID "$1" 2>/dev/null | while read -r number type uuid; do
    # Mounts of any process: those of pods are in namespaces of their own.
    grep -hs " $number " "$proc"/1/mountinfo "$proc"/[0-9]*/mountinfo | awk 'NR == 1 { print "mounted at " $5 }'
    [ -z "$uuid" ] || grep "^[^#]*$uuid" "$fstab" || true
    case $type in disk | part | loop) ;; *) echo "part of $type" ;; esac
  done | head -n 1
}

content() { # disk: what it holds, empty where nothing is found
  {
    wipefs --no-act --noheadings --output TYPE "$1"
    lsblk --noheadings --raw --output TYPE "$1" | sed -n '2,$p'
  } 2>/dev/null | sort -u | tr '\n' ' '
}

# A disk of this content may be given up by hand. Others (Ceph, LVM, RAID, LUKS, ZFS) are in use without being mounted.
told() { # disk content: why it is not taken
  user=$(used_by "$1")
  if [ -n "$user" ]; then
    echo "$1 is in use ($user)"
    return
  fi
  case $2 in
  'xfs ' | 'ext4 ' | 'ext3 ' | 'vfat ') echo "$1 holds $2and is not mounted (if nobody needs that: wipefs --all $1)" ;;
  *) echo "$1 holds $2and may be in use" ;;
  esac
}

choose() { # kind name: the first empty disk that is not in the plan yet; else says why on standard error
  for disk in $(candidates "$1" "$2"); do
    [ -e "$disk" ] || continue
    grep -q " $disk\$" "$plan" && continue
    holds=$(content "$disk")
    if [ -z "$holds" ] && [ -z "$(used_by "$disk")" ]; then
      echo "$disk"
      return
    fi
    echo "  $(told "$disk" "$holds")" >&2
  done
}

# Plan first: nothing is touched when a disk is missing or in use.
while read -r filesystem mount group kind name; do
  case $filesystem in '' | '#'*) continue ;; esac
  source=$(listed "$mount")
  if [ -n "$source" ]; then
    if findmnt --mountpoint "$mount" >/dev/null; then
      echo "$mount: is mounted"
    elif is_gone "$source"; then
      refuse "$mount: its disk ($source) is gone. Once it is replaced, remove its line from $fstab and run again"
      continue
    else
      echo "$mount: mount what $fstab says ($source)"
    fi
    echo "- $mount $group $source" >>"$plan"
    continue
  fi
  disk=$(choose "$kind" "$name")
  if [ -z "$disk" ]; then
    refuse "$mount: no empty disk $kind $name"
    continue
  fi
  echo "$filesystem $mount $group $disk" >>"$plan"
  echo "$mount: mkfs.$filesystem on $disk"
done <"$list"

[ $failed = 0 ] || { echo "nothing was changed" >&2; exit 1; }
[ "$act" = --yes ] || { echo "dry run: add --yes to do this"; exit 0; }
while read -r filesystem mount group disk; do
  if [ "$filesystem" != - ]; then
    "mkfs.$filesystem" "$disk" >/dev/null
    uuid=$(blkid --match-tag UUID --output value "$disk")
    mkdir -p "$mount"
    # A mount point that is not mounted must not take data: writing there would fill the system disk.
    chattr +i "$mount" 2>/dev/null || true
    echo "UUID=$uuid $mount $filesystem defaults,noatime,nofail 0 2" >>"$fstab"
  fi
  findmnt --mountpoint "$mount" >/dev/null || mount --fstab "$fstab" "$mount"
  chgrp "$group" "$mount"
  chmod 0775 "$mount"
  echo "$mount: mounted"
done <"$plan"
