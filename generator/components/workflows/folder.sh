#!/bin/bash
# How upload.sh brings files to a folder of an NFS export in place of a bucket; it reads this file, nobody runs it.
#
# There is a file for each time: `TIME$ENDING`, what lies beside it, and `TIME.json` about it, written last. What is older
# than KEEP_DAYS is removed, the newest never. Needs only bash and coreutils.
# shellcheck shell=bash disable=SC2034,SC2154  # variables of upload.sh, and for it
folder="$TARGET/$TARGET_BUCKET/$NAME"
records=$folder
umask 077

configure() { :; }

ready() {
  local said whose
  said=$(mkdir -p "$folder" 2>&1) || wrote "$said"
  [[ -e $folder/cluster ]] || store "$folder/cluster" < <(printf '%s\n' "$CLUSTER")
  whose=$(<"$folder/cluster")
  [[ $whose == "$CLUSTER" ]] \
    || verdict "$TARGET_BUCKET/$NAME of $PLACE holds what is cluster $whose's: give each cluster a folder of its own in \`to\`"
  key="$folder/$stamp$ENDING" keys="$folder/$stamp.keys.age"
}

wrote() {  # what a program says that could not write
  case $1 in
    *'No space left'* | *'quota exceeded'*) verdict "there is no room in $PLACE, or its quota is reached: $1" ;;
    *'Permission denied'* | *'Read-only'* | *'not permitted'*)
      verdict "the export must let user $(id -u) and group $(id -g) write there: $1" ;;
    *) trouble "cannot write to $PLACE: $1" ;;
  esac
}

store() {  # file: reads what goes there, whole or not at all
  local said
  said=$({ cat >"$1.part" && sync "$1.part" && mv "$1.part" "$1"; } 2>&1) || { rm -f "$1.part"; wrote "$said"; }
}

bring() { store "$2" <"$1"; }  # from to

digest() {  # file: not from this node's memory, but from the server's disk
  dd if="$1" iflag=nocache count=0 status=none
  sha256sum <"$1" | cut -c 1-64
}

overtaken() {  # sets newer, to the newest there is
  local file one
  for file in "$folder"/*.json; do
    one=${file##*/} one=${one%.json}
    [[ ! -f $file || ! $one > $stamp || $one > $latest ]] || newer=$one
  done
  [[ $newer ]]
}

write_record() {  # file text
  store "$1" < <(printf '%s\n' "$2")
  [[ $(<"$1") == "$2" ]] || trouble "the record does not read back"
  say "wrote $1: $2"
  tidy
}

# By two clocks: one that is ahead would remove nearly all. A record goes before what it is about: what is half removed is no
# backup, and goes the next time, as does what a run left that was ended.
tidy() {
  local now oldest file one gone=0
  now=$(date +%s)
  ((${SINCE-$now} > now)) || now=${SINCE-$now}
  oldest=$(date -d "@$((now - KEEP_DAYS * 86400))" +%Y%m%dT%H%M%SZ)
  for file in "$folder"/*.json "$folder"/[0-9]*; do
    one=${file##*/} one=${one%%.*}
    if [[ -f $file && $one < $oldest && $one != "$stamp" ]]; then
      rm -f "$file"
      [[ $file != *.json ]] || gone=$((gone + 1))
    fi
  done
  say "removed $gone that were older than $KEEP_DAYS days"
}
