#!/bin/bash
# Let a backup keep what it promises, and no more: keep.sh keep
#
# Hides what is gone from the source: the bucket then removes it, as it does former versions, after its days. Extends the
# locks of what is there. Its keys may neither write an object nor remove a version. Needs and exit codes: see buckets.sh.
set -euo pipefail
# shellcheck source=SCRIPTDIR/buckets.sh
source "${BASH_SOURCE[0]%/*}/buckets.sh"
# shellcheck source=SCRIPTDIR/guard.sh
source "${BASH_SOURCE[0]%/*}/guard.sh"

source="source/$SOURCE_BUCKET"
target="target/$TARGET_BUCKET"
# Names that one call of the client is told.
at_once=500
# How many objects tell whether the locks were extended, beside the first and the last.
asked=6

# Who asks for the time of a backup, as a restore and a drill do, shall have all that it proved.
after_the_record() {  # reads stamp, of `guard`
  local ends
  [[ $stamp ]] || verdict "there is no good backup: $target/$records holds no record"
  ends=$(date -d "${stamp:0:8} ${stamp:9:2}:${stamp:11:2}:${stamp:13:2}" +%s)
  until (($(date +%s) > ends + 1)); do sleep 1; done
}

gone() {  # what the target has and the source has not goes to `gone`
  local key
  join -t "$tab" -v 2 "$WORK/source" "$WORK/target" | cut -f 1 >"$WORK/only"
  while IFS= read -r key; do
    if [[ $key == *'\u2'* ]]; then say "left, since mc cannot be told this name: $key"
    elif [[ $key != _gen/backups/* ]]; then printf '%s\n' "$key" >&3
    fi
  done 3>"$WORK/gone" <"$WORK/only"
}

hide() {
  local key name places=()
  while IFS= read -r key; do
    name_of "$key"
    places+=("$target/$name")
    ((${#places[@]} < at_once)) || { remove "${places[@]}"; places=(); }
  done <"$WORK/gone"
  ((${#places[@]} == 0)) || remove "${places[@]}"
}

remove() {  # object...: hides its current version
  mc --json rm "$@" >"$WORK/said" </dev/null || trouble "cannot hide what is gone: $(tail -n 3 "$WORK/said")"
}

# mc exits 0 after some errors.
hidden() {
  local key
  bad=0
  [[ ! -s $WORK/gone ]] || list "$target" "$WORK/target"
  join -t "$tab" "$WORK/gone" "$WORK/target" | cut -f 1 >"$WORK/left"
  while IFS= read -r key; do report "still there: $key"; done <"$WORK/left"
  ((bad == 0)) || trouble "$bad objects that are gone from the source are not hidden"
  say "hid $(wc -l <"$WORK/gone") objects that are gone from $source"
}

# A lock is due when it ends in less than nine tenths of its days, and is extended to a day more than them: what was copied
# just now, by a clock that is ahead, ends earlier, and a lock is never shortened. All are extended together, in the order
# of their names: where some of them, and the last one, are not due, none is.
old_ones() {  # those that were copied a tenth of the days ago, or more
  local key time newest
  newest=$(date -d "@$((now - tenth))" +%FT%T)
  while IFS=$tab read -r key _ time _; do
    [[ $key == *'\u2'* || $time > $newest ]] || printf '%s\n' "$key"
  done <"$WORK/target" >"$WORK/old"
}

due() {  # sets key, of one that is due
  local name until
  { head -n 1 "$WORK/old"; tail -n 1 "$WORK/old"; shuf -n "$asked" "$WORK/old"; } >"$WORK/asked"
  while IFS= read -r key; do
    name_of "$key"
    until=$(mc --json retention info "$target/$name" </dev/null) || trouble "cannot read the lock of $target/$name: $until"
    [[ $until =~ \"until\":\"([0-9]{4}[0-9T:-]+) ]] || trouble "cannot read the lock of $target/$name: $until"
    [[ ! ${BASH_REMATCH[1]} < $bar ]] || return 0
  done <"$WORK/asked"
  return 1
}

extended() {  # counts what mc says, which exits 0 after some errors
  local line
  count=0 bad=0
  while IFS= read -r line; do
    if [[ $line == *'"status":"success"'* ]]; then count=$((count + 1)); else report "mc: $line"; fi
  done <"$WORK/said"
}

extend() {
  local key now tenth bar count
  now=$(date +%s) tenth=$((LOCK_DAYS * 8640))
  bar=$(date -d "@$((now + 9 * tenth))" +%FT%T)
  old_ones
  due || { say "no lock need be extended"; return; }
  mc --json retention set --recursive compliance "$((LOCK_DAYS + 1))d" "$target/" >"$WORK/said" \
    || trouble "cannot extend the locks: $(tail -n 3 "$WORK/said")"
  extended
  ((bad == 0)) || trouble "of $((count + bad)) locks $bad could not be extended"
  ! due || verdict "the lock of $key was extended, and still ends before $bar: look at the rights of the keys"
  say "extended $count locks to $((LOCK_DAYS + 1)) days from now"
}

keep() {
  [[ ${TARGET_ACCESS_KEY-} ]] || verdict "the keys that hide and lock are not there: run \`gen bootstrap\`, then sync minio"
  configure source "$SOURCE_URL" "$SOURCE_ACCESS_KEY" "$SOURCE_SECRET_KEY" \
    target "$TARGET_URL" "$TARGET_ACCESS_KEY" "$TARGET_SECRET_KEY"
  list "$source" "$WORK/source"
  totals "$WORK/source"
  guard
  list "$target" "$WORK/target"
  after_the_record
  gone
  hide
  hidden
  [[ -z $LOCK_DAYS ]] || extend
}

case ${1-} in
  keep) keep ;;
  *) verdict "usage: keep.sh keep" ;;
esac
