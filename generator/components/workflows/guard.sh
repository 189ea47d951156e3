#!/bin/bash
# What keeps a lost source from becoming the backup; scripts read it after buckets.sh, nobody runs it.
# shellcheck shell=bash disable=SC2034,SC2154  # variables of who reads this, and for them
records="_gen/backups/$NAME"

# Sets stamp, of this backup's newest record, and newest, its key below `_gen/backups`; nothing when there is none, which is
# not the same as one that cannot be read. Where this backup has none, newest is of another name: it was called otherwise.
newest_record() {
  local key one latest other=''
  stamp='' newest='' latest=$(soon)
  list "$target/_gen/backups/" "$WORK/records"
  while IFS=$tab read -r key _; do
    one=${key##*/} one=${one%.json}
    if [[ $key == _* || $one > $latest ]]; then continue
    elif [[ ${key%/*} == "$NAME" ]]; then stamp=$one
    elif [[ $one > $other ]]; then other=$one newest=$key
    fi
  done <"$WORK/records"
  [[ ! $stamp ]] || newest=$NAME/$stamp.json
}

shrunk() { (($1 * 100 < $2 * (100 - SHRINK_PERCENT))); }

guard() {  # reads objects and bytes, of the source; sets stamp
  local newest text before_objects before_bytes
  newest_record
  [[ $newest ]] || { say "no earlier record: this is the first backup"; return; }
  text=$(mc cat "$target/_gen/backups/$newest") || trouble "cannot read $target/_gen/backups/$newest"
  [[ $text =~ \"objects\":([0-9]+),\"bytes\":([0-9]+) ]] \
    || trouble "$target/_gen/backups/$newest is not a record of ours"
  before_objects=${BASH_REMATCH[1]} before_bytes=${BASH_REMATCH[2]}
  say "last backup: $before_objects objects, $before_bytes bytes"
  [[ ! $text =~ \"source\":\"([^\"]+)\" ]] || same_source "${BASH_REMATCH[1]}"
  if shrunk "$objects" "$before_objects" || shrunk "$bytes" "$before_bytes"; then
    verdict "the source shrank by more than $SHRINK_PERCENT %: look at it before it becomes the backup." \
      "If it is meant, submit this backup once with shrink-percent=100"
  fi
}

same_source() {  # bucket that the copies are of
  [[ $1 == "$SOURCE_BUCKET" ]] || ((SHRINK_PERCENT >= 100)) \
    || verdict "the copies in $TARGET_BUCKET are of bucket $1, and would be mixed with those of $SOURCE_BUCKET, or be taken" \
      "for what is gone there: give this backup a bucket of its own. If it is meant, submit it once with shrink-percent=100"
}
