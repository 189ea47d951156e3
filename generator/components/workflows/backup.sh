#!/bin/bash
# Copy one bucket to another and prove the copy: backup.sh precheck | mirror | verify | record
#
# Needs only what the client image holds: bash, coreutils and mc (no awk, grep, sed or jq).
# Exit code 1: trouble that may pass, try again. Exit code 2: a verdict, trying again does not help.
set -euo pipefail
# shellcheck source=SCRIPTDIR/buckets.sh
source "${BASH_SOURCE[0]%/*}/buckets.sh"
# shellcheck source=SCRIPTDIR/guard.sh
source "${BASH_SOURCE[0]%/*}/guard.sh"
# shellcheck source=SCRIPTDIR/ready.sh
source "${BASH_SOURCE[0]%/*}/ready.sh"

source="source/$SOURCE_BUCKET"
target="target/$TARGET_BUCKET"
list="_gen/backups/_lists/$NAME"

precheck() {
  [[ $ETAGS =~ ^(md5|other)$ ]] || verdict "etags is md5 or other, not $ETAGS"
  ready
  list "$source" "$WORK/source"
  totals "$WORK/source"
  say "source: $objects objects, $bytes bytes"
  guard
}

# Older services take no checksum that follows its object, as of Ceph 16: they get one that precedes it.
mirror() {
  local check=(--checksum CRC32C)
  [[ ! $PLACE ]] || check=(--md5)
  mc --json mirror --overwrite --retry --skip-errors "${check[@]}" "$source" "$target" | judge \
    || not_whole $? "the copy is not whole"
}

# One line for each object of the source: key, its size, time and checksum, the copy's size and time or `-`. What is
# proven goes to `list`.
compare() {
  local key size time sum copy_size copy_time largest=$SAMPLE_BYTES
  objects=0 bytes=0 moving=0 bad=0
  while IFS=$tab read -r key size time sum copy_size copy_time; do
    objects=$((objects + 1)) bytes=$((bytes + size))
    if [[ ! $time < $since ]]; then moving=$((moving + 1)); continue
    elif [[ $copy_size == - ]]; then report "missing: $key"
    elif ((size != copy_size)); then report "differs in size ($size, copy $copy_size): $key"
    elif [[ $copy_time < $time ]]; then report "copy is older than its source: $key"
    else
      printf '%s\t%s\t%s\t%s\n' "$key" "$size" "$time" "$sum" >&4
      if ((size <= largest)) && [[ $key != *'\u2'* ]]; then printf '%s\n' "$key" >&3; fi
    fi
  done 3>"$WORK/whole" 4>"$WORK/list"
}

# Read objects on both sides: equal sizes and times do not prove equal content.
sample() {
  local key name ours theirs
  sampled=0
  while IFS= read -r key; do
    name_of "$key"
    ours=$(digest "$source/$name") || trouble "cannot read $source/$name"
    theirs=$(digest "$target/$name") || trouble "cannot read $target/$name"
    [[ $ours == "$theirs" ]] || report "differs in content: $key"
    printf '%s\t%s\n' "$key" "$ours" >&3
    sampled=$((sampled + 1))
  done 3>"$WORK/read" < <(shuf -n "$SAMPLE" "$WORK/whole")
}

# ETags of what a server encrypts say nothing of content: whoever tries the backup gets the checksums of what was read.
sums() {
  [[ $ETAGS != md5 ]] || return 0
  sort -t "$tab" -k 1,1 -o "$WORK/read" "$WORK/read"
  join -t "$tab" -a 1 -e - -o 0,1.2,1.3,2.2 "$WORK/list" "$WORK/read" >"$WORK/summed"
  cat "$WORK/summed" >"$WORK/list"
}

verify() {
  since=$(date -d "@$SINCE" +%FT%T)
  list "$source" "$WORK/source"
  list "$target" "$WORK/target"
  join -t "$tab" -a 1 -e - -o 0,1.2,1.3,1.4,2.2,2.3 "$WORK/source" "$WORK/target" >"$WORK/pairs"
  compare <"$WORK/pairs"
  guard
  sample
  say "$objects objects, $bytes bytes; $moving changed since $since and left to the next run; $sampled read whole"
  ((bad == 0)) || verdict "$bad objects are not in $target as they are in $source"
  sums
  keep_list
  for name in objects bytes moving sampled listed; do printf '%s' "${!name}" >"$WORK/$name"; done
}

# What was proven, for who brings it back: always the same key, so that the bucket ends former lists as it does others.
keep_list() {  # sets listed: the checksum by which the record knows its list
  listed=$(sha256sum <"$WORK/list" | cut -c 1-64)
  mc --json cp "$WORK/list" "$target/$list" >"$WORK/said" 2>&1 || refused "cannot write $target/$list" "$WORK/said"
  [[ $(digest "$target/$list") == "$listed" ]] || trouble "$target/$list does not read back"
}

record() {
  local stamp text client
  stamp=$(date +%Y%m%dT%H%M%SZ)
  read -r client < <(mc --version)
  printf -v text '{"backup":%s,"source":%s,"target":%s,"objects":%d,"bytes":%d,"moving":%d,"sampled":%d,' \
    "$(quoted "$NAME")" "$(quoted "$SOURCE_BUCKET")" "$(quoted "$TARGET_BUCKET")" "$OBJECTS" "$BYTES" "$MOVING" "$SAMPLED"
  printf -v text '%s"started":"%s","finished":"%s","client":%s,"listed":"%s","mayShrink":%d}' \
    "$text" "$(date -d "@$SINCE" +%FT%TZ)" "$(date +%FT%TZ)" "$(quoted "$client")" "$LISTED" "$SHRINK_PERCENT"
  [[ $COMPARE_PERCENT == none ]] || text="${text%\}},\"compared\":$COMPARE_PERCENT}"
  write_record "$target/$records/$stamp.json" "$text"
}

[[ $MC_LIMIT_UPLOAD =~ ^([1-9][0-9]{5,14})?$ ]] \
  || verdict "bandwidth is bytes a second, at least 100000, or nothing, not $MC_LIMIT_UPLOAD"
configure source "$SOURCE_URL" "$SOURCE_ACCESS_KEY" "$SOURCE_SECRET_KEY" \
  target "$TARGET_URL" "$TARGET_ACCESS_KEY" "$TARGET_SECRET_KEY"
case ${1-} in
  precheck | mirror | verify | record) "$1" ;;
  *) verdict "usage: backup.sh precheck|mirror|verify|record" ;;
esac
