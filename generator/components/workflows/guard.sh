#!/bin/bash
# What keeps a lost source from becoming the backup; scripts read it after buckets.sh, nobody runs it.
# shellcheck shell=bash disable=SC2034,SC2154  # variables of who reads this, and for them
records="_gen/backups/$NAME"

# Sets stamp, of this backup's newest record, and recent, the keys below `_gen/backups` of that and of others of the seven days
# up to it, the newest first: not up to now, or a loss that nobody looked into for a week would pass. Nothing when there is
# none, which is not the same as one that cannot be read. Where this backup has none, recent is the newest of another name:
# it was called otherwise.
recent_records() {
  local key one latest newest='' other='' own=()
  stamp='' recent=() latest=$(soon)
  list "$target/_gen/backups/" "$WORK/records"
  while IFS=$tab read -r key _; do
    one=${key##*/} one=${one%.json}
    if [[ $key == _* || $one > $latest ]]; then continue
    elif [[ ${key%/*} == "$NAME" ]]; then own+=("$key") stamp=$one
    elif [[ $one > $other ]]; then other=$one newest=$key
    fi
  done <"$WORK/records"
  if [[ $stamp ]]; then of_a_week "${own[@]}"; elif [[ $newest ]]; then recent=("$newest"); fi
}

of_a_week() {  # key..., the oldest first: sets recent
  local number one week
  week=$(date -d "${stamp:0:8} ${stamp:9:2}:${stamp:11:2}:${stamp:13:2} 7 days ago" +%Y%m%dT%H%M%SZ) \
    || trouble "$target/$records holds what is not a record of ours: $stamp"
  for ((number = $#; number > 0; number--)); do
    one=${!number##*/}
    [[ ! ${one%.json} < $week ]] || return 0
    recent+=("${!number}")
  done
}

shrunk() { (($1 * 100 < $2 * (100 - SHRINK_PERCENT))); }

# Sets most_objects and most_bytes, of the records. What is older than a run that was let shrink further is not counted.
largest() {  # place: reads recent
  local lines one stray="$1/${recent[0]%/*} holds what is not a record of ours"
  most_objects=0 most_bytes=0
  mc cat "${recent[@]/#/$1/}" >"$WORK/recorded" || trouble "cannot read the records in $1/${recent[0]%/*}"
  mapfile -t lines <"$WORK/recorded"
  ((${#lines[@]} == ${#recent[@]})) || trouble "$stray"
  for one in "${lines[@]}"; do
    [[ $one =~ \"objects\":([0-9]+),\"bytes\":([0-9]+) ]] || trouble "$stray"
    ((BASH_REMATCH[1] <= most_objects)) || most_objects=${BASH_REMATCH[1]}
    ((BASH_REMATCH[2] <= most_bytes)) || most_bytes=${BASH_REMATCH[2]}
    [[ ! $one =~ \"mayShrink\":([0-9]+) ]] || ((BASH_REMATCH[1] <= SHRINK_PERCENT)) || return 0
  done
}

guard() {  # reads objects and bytes, of the source; sets stamp
  local recent most_objects most_bytes newest
  recent_records
  ((${#recent[@]})) || { say "no earlier record: this is the first backup"; return; }
  largest "$target/_gen/backups"
  read -r newest <"$WORK/recorded"
  say "the largest of ${#recent[@]} backups of the last days: $most_objects objects, $most_bytes bytes"
  [[ ! $newest =~ \"source\":\"([^\"]+)\" ]] || same_source "${BASH_REMATCH[1]}"
  if shrunk "$objects" "$most_objects" || shrunk "$bytes" "$most_bytes"; then
    verdict "the source shrank by more than $SHRINK_PERCENT % since the largest backup of the seven days up to the last" \
      "one ($most_objects objects, $most_bytes bytes; now $objects and $bytes): look at it before it becomes the backup." \
      "If it is meant, submit this backup once with shrink-percent=100"
  fi
}

same_source() {  # bucket that the copies are of
  [[ $1 == "$SOURCE_BUCKET" ]] || ((SHRINK_PERCENT >= 100)) \
    || verdict "the copies in $TARGET_BUCKET are of bucket $1, and would be mixed with those of $SOURCE_BUCKET, or be taken" \
      "for what is gone there: give this backup a bucket of its own. If it is meant, submit it once with shrink-percent=100"
}
