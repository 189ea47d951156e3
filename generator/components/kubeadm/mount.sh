#!/bin/sh
# Make filesystems and mounts of the disks in NODE.list: ./mount.sh NODE.list shows what would be done, with --yes
# does it. A disk that holds anything, a partition table included, is never formatted; one with the filesystem and label
# that this script gave it for a mount point is mounted there again, as after a new system. Safe to run again: what is
# listed in fstab already is mounted if it is not, and stays as it is. After a disk was replaced, see the README.
set -eu

list=${1:?usage: ./mount.sh NODE.list [--yes]}
act=${2:-}
# Without its rights a disk full of data looks as an empty one does.
[ "$(id -u)" = 0 ] || { echo "mount.sh: must run as root, to see what disks hold" >&2; exit 1; }
# Elsewhere in tests only.
dev=${GEN_DEV:-/dev/disk}
fstab=${GEN_FSTAB:-/etc/fstab}
proc=${GEN_PROC:-/proc}
# There where systemd runs, and not only its programs are installed: sd_booted(3).
systemd=${GEN_SYSTEMD:-/run/systemd/system}
failed=0
skipped=
newline='
'
plan=$(mktemp)
trap 'rm -f "$plan"' EXIT

refuse() {
  echo "$*" >&2
  failed=1
}

skip() { # what is left out, and holds up no other mount
  echo "$*" >&2
  skipped="$skipped $mount"
}

listed() { # mount point: what fstab mounts there
  awk -v mount="$1" '$1 !~ /^#/ && $2 == mount { print $1; exit }' "$fstab"
}

mounted() { # mount point, column: what findmnt knows of the mount there, empty where there is none
  findmnt --noheadings --output "$2" --mountpoint "$1" || true
}

differs() { # mount point, source: whether something else than this is mounted there
  case $2 in UUID=*) [ "$(mounted "$1" UUID)" != "${2#UUID=}" ] ;; *) false ;; esac
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

content() { # disk: what it holds, empty where nothing is found; fails where that cannot be told
  found=$(wipefs --no-act --noheadings --output TYPE "$1") || return 1
  tree=$(lsblk --noheadings --raw --output TYPE "$1") || return 1
  # An error of reading is nothing found to wipefs (2.38), and no error.
  head -c 1048576 "$1" >/dev/null || return 1
  printf '%s\n%s\n' "$found" "$(echo "$tree" | sed 1d)" | sed '/^$/d' | sort -u | tr '\n' ' '
}

unknown() { # kind name: the disks that nobody is known to use, and of which cannot be told what they hold
  for disk in $(candidates "$1" "$2"); do
    [ -e "$disk" ] || continue
    [ -z "$(used_by "$disk")" ] || continue
    content "$disk" >/dev/null || echo "$disk"
  done
}

label_of() { # disk: its filesystem's label, empty where it has none
  blkid --match-tag LABEL --output value "$1" || true
}

told() { # disk content: why it is not taken. Ceph, LVM, RAID, LUKS and ZFS are in use without being mounted.
  user=$(used_by "$1")
  if [ -n "$user" ]; then
    echo "$1 is in use ($user)"
    return
  fi
  case $2 in
  'xfs ' | 'ext4 ' | 'ext3 ' | 'vfat ')
    label=$(label_of "$1")
    echo "$1 holds $2(label: ${label:-none}) and is not mounted. It may be data: look with \`mount -o ro $1 /mnt\`;" \
      "how to label it or give it up is in the README's step of disks"
    ;;
  *) echo "$1 holds $2and may be in use" ;;
  esac
}

labelled() { # kind name filesystem label: the disks which this script made for a mount point, and nobody uses
  for disk in $(candidates "$1" "$2"); do
    [ -e "$disk" ] || continue
    [ "$(content "$disk")" = "$3 " ] || continue
    [ -z "$(used_by "$disk")" ] || continue
    [ "$(label_of "$disk")" != "$4" ] || echo "$disk"
  done
}

choose() { # kind name: the first empty disk that is not in the plan yet; else says why on standard error
  for disk in $(candidates "$1" "$2"); do
    [ -e "$disk" ] || continue
    grep -q " $disk\$" "$plan" && continue
    holds=$(content "$disk") || holds='what cannot be read '
    if [ -z "$holds" ] && [ -z "$(used_by "$disk")" ]; then
      echo "$disk"
      return
    fi
    echo "  $(told "$disk" "$holds")" >&2
  done
}

# Plan first: nothing is touched when a disk is missing or in use. One that cannot be read is left out alone: the others
# of the node need not wait until somebody has replaced it.
while read -r filesystem mount group kind name; do
  case $filesystem in '' | '#'*) continue ;; esac
  source=$(listed "$mount")
  now=$(mounted "$mount" SOURCE)
  if [ -n "$source" ]; then
    if is_gone "$source"; then
      refuse "$mount: its disk ($source) is gone. Once it is replaced: umount $mount (umount -l if that hangs), remove" \
        "its line from $fstab, and run again"
      continue
    elif [ -z "$now" ]; then
      echo "$mount: mount what $fstab says ($source)"
    elif differs "$mount" "$source"; then
      refuse "$mount: still mounted from $now, and $fstab says $source: umount $mount (or umount -l) first"
      continue
    else
      echo "$mount: is mounted"
    fi
    echo "keep $filesystem $mount $group $source" >>"$plan"
    continue
  fi
  if [ -n "$now" ]; then
    refuse "$mount: still mounted from $now, and not in $fstab: umount $mount (or umount -l) first"
    continue
  fi
  disk=$(labelled "$kind" "$name" "$filesystem" "${mount##*/}")
  case $disk in
  '') ;;
  *"$newline"*)
    refuse "$mount: several disks have its label, label all but one otherwise: $disk"
    continue
    ;;
  *)
    echo "again $filesystem $mount $group $disk" >>"$plan"
    echo "$mount: mount $disk again, which has its label"
    continue
    ;;
  esac
  # One of these may be the disk that this mount point had: no empty one is taken in its place.
  unread=$(unknown "$kind" "$name" | tr '\n' ' ')
  if [ -n "$unread" ]; then
    skip "$mount: nobody can tell what these disks hold, and it may be data: ${unread}(replace those that are" \
      "broken, or take them out)"
    continue
  fi
  disk=$(choose "$kind" "$name")
  if [ -z "$disk" ]; then
    refuse "$mount: no empty disk $kind $name"
    continue
  fi
  echo "make $filesystem $mount $group $disk" >>"$plan"
  echo "$mount: mkfs.$filesystem on $disk"
done <"$list"

[ $failed = 0 ] || { echo "nothing was changed" >&2; exit 1; }
told_of_skipped() { # fails where something is left out
  [ -z "$skipped" ] || { echo "left out:$skipped" >&2; return 1; }
}
[ "$act" = --yes ] || { echo "dry run: add --yes to do this"; told_of_skipped; exit; }
# A last line without its end would become one with ours.
[ -z "$(tail -c 1 "$fstab")" ] || echo >>"$fstab"
while read -r todo filesystem mount group disk; do
  [ "$todo" != keep ] || continue
  [ "$todo" != make ] || "mkfs.$filesystem" -L "${mount##*/}" "$disk" >/dev/null
  uuid=$(blkid --match-tag UUID --output value "$disk")
  echo "UUID=$uuid $mount $filesystem defaults,noatime,nofail 0 2" >>"$fstab"
done <"$plan"
# systemd unmounts at once what it knows from an older fstab to belong to a disk that is gone.
if [ -d "$systemd" ]; then systemctl daemon-reload; fi
if command -v udevadm >/dev/null 2>&1; then udevadm settle; fi
while read -r todo filesystem mount group disk; do
  if [ -z "$(mounted "$mount" SOURCE)" ]; then
    mkdir -p "$mount"
    # A mount point that is not mounted must not take data: writing there would fill the system disk.
    chattr +i "$mount" 2>/dev/null || true
    mount --fstab "$fstab" "$mount"
  fi
  source=$(listed "$mount")
  if differs "$mount" "$source"; then
    echo "$mount: $(mounted "$mount" SOURCE) is mounted there, not $source. Nothing more was done" >&2
    exit 1
  fi
  chgrp "$group" "$mount"
  chmod 0775 "$mount"
  echo "$mount: mounted"
done <"$plan"
told_of_skipped
