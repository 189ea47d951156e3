#!/bin/bash
# What keeps a lost source from becoming the backup; scripts read it after buckets.sh, nobody runs it.
# shellcheck shell=bash disable=SC2154  # variables of who reads this
records="_gen/backups/$NAME"

# The newest record's counts: empty when there is none, which is not the same as one that cannot be read.
last_record() {
  local key text
  mc --json ls --recursive "$target/$records/" | rows | sort >"$WORK/records" || trouble "cannot list $target/$records"
  key=$(tail -n 1 "$WORK/records" | cut -f 1)
  [[ $key ]] || return 0
  text=$(mc cat "$target/$records/$key") || trouble "cannot read $target/$records/$key"
  [[ $text =~ \"objects\":([0-9]+),\"bytes\":([0-9]+) ]] || trouble "$target/$records/$key is not a record of ours"
  printf '%s %s' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
}

shrunk() { (($1 * 100 < $2 * (100 - SHRINK_PERCENT))); }

guard() {  # reads objects and bytes, of the source
  local record before_objects before_bytes
  record=$(last_record) || exit 1
  [[ $record ]] || { say "no earlier record: this is the first backup"; return; }
  read -r before_objects before_bytes <<<"$record"
  say "last backup: $before_objects objects, $before_bytes bytes"
  if shrunk "$objects" "$before_objects" || shrunk "$bytes" "$before_bytes"; then
    verdict "the source shrank by more than $SHRINK_PERCENT %: look at it before it becomes the backup." \
      "If it is meant, submit this backup once with shrink-percent=100"
  fi
}
