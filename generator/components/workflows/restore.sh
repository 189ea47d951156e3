#!/bin/bash
# Bring a bucket back from its backup: restore.sh precheck | copy | verify | switch
#
# Into a new bucket first, where it is proven. Only `switch` writes to the live bucket, and nothing deletes anything.
# Needs and exit codes: see buckets.sh.
set -euo pipefail
# shellcheck source=SCRIPTDIR/buckets.sh
source "${BASH_SOURCE[0]%/*}/buckets.sh"
# shellcheck source=SCRIPTDIR/records.sh
source "${BASH_SOURCE[0]%/*}/records.sh"

restored="restored/$INTO"
live="live/$LIVE_BUCKET"

# A version that was removed since is no error for S3: the record tells how many there must be.
complete() {
  local text
  text=$(mc cat "$backup/$records/$stamp.json") || trouble "cannot read $backup/$records/$stamp.json"
  [[ $text =~ \"objects\":([0-9]+),\"bytes\":[0-9]+,\"moving\":([0-9]+) ]] \
    || verdict "$backup/$records/$stamp.json is not a record of ours"
  ((objects >= BASH_REMATCH[1] - BASH_REMATCH[2])) \
    || verdict "of ${BASH_REMATCH[1]} objects that were proven at $WHEN the backup still holds $objects:" \
      "older versions are kept for some days only, as their bucket says. Ask for a later time"
}

# Sort the wanted objects by how they are in a bucket, as lines of key and version: missing, differing in size, and
# doubtful, which is equal in size and not proven by a checksum.
sort_out() {  # bucket
  local key size sum version there theirs
  proven=0
  list "$1" "$WORK/there"
  join -t "$tab" -a 1 -e - -o 0,1.2,1.4,1.5,2.2,2.4 "$WORK/wanted" "$WORK/there" >"$WORK/pairs"
  while IFS=$tab read -r key size sum version there theirs; do
    if [[ $there == - ]]; then printf '%s\t%s\n' "$key" "$version" >&3
    elif ((size != there)); then printf '%s\t%s\n' "$key" "$version" >&4
    elif [[ $sum == "$theirs" && $sum =~ $md5 ]]; then proven=$((proven + 1))
    else printf '%s\t%s\n' "$key" "$version" >&5
    fi
  done 3>"$WORK/missing" 4>"$WORK/differing" 5>"$WORK/doubtful" <"$WORK/pairs"
}

# Give each part of a file of keys to a function, several at a time; what they print goes to `found`.
parallel() {  # file function [argument]...
  local file=$1 part job jobs=() bad=0
  shift
  split -n "l/$PARALLEL" "$file" "$WORK/part."
  for part in "$WORK"/part.a?; do
    "$@" <"$part" >"$WORK/found.${part##*.}" &
    jobs+=("$!")
  done
  for job in "${jobs[@]}"; do wait "$job" || bad=1; done
  ((bad == 0)) || trouble "not all of it could be done"
  cat "$WORK"/found.a? >"$WORK/found"
}

copy_each() {  # from to: reads keys, and versions of them
  local key version which
  while IFS=$tab read -r key version; do
    alone "$key"
    which=()
    [[ $1 != "$backup" || $version == - ]] || which=(--version-id "$version")
    mc --json cp "${which[@]}" "$1/$name" "$2/$name" >&2 </dev/null || trouble "cannot copy $1/$name"
  done
}

# Read both sides whole, and print the keys that differ.
unlike() {  # bucket: reads keys
  local key ours theirs
  while IFS=$tab read -r key _; do
    alone "$key"
    ours=$(digest "$backup/$name" --rewind "$WHEN" </dev/null) || trouble "cannot read $backup/$name"
    theirs=$(digest "$1/$name" </dev/null) || trouble "cannot read $1/$name"
    [[ $ours == "$theirs" ]] || printf '%s\n' "$key"
  done
}

told() {  # file words: report each key of a file
  local key
  while IFS=$tab read -r key _; do report "$2: $key"; done <"$1"
}

precheck() {
  [[ $SWITCH =~ ^(none|missing|all)$ ]] || verdict "switch is none, missing or all, not $SWITCH"
  reach "$backup/$records/" "the backup's reader"
  reach restored/ "the restore"
  [[ $SWITCH == none ]] || owner
  [[ $INTO != "$LIVE_BUCKET" ]] || verdict "$INTO is the live bucket: restore into a new one, and switch then"
  choose
  taken
  wanted
  complete
  room
  say "the backup that ended at $(when_of "$stamp"): $objects objects, $bytes bytes"
  place
  printf '%s' "$WHEN" >"$WORK/when"
}

# The keys of a team's bucket are in the team's namespace, where this pod reads nothing.
owner() {
  [[ ${LIVE_ACCESS_KEY-} ]] || verdict "there are no keys of the owner of $LIVE_BUCKET: copy their Secret here, as" \
    "\`gen restore\` tells, or let switch be none"
}

# What the restore's user has in its buckets, which are all that it sees: sets there, of the new bucket, and elsewhere.
taken() {
  local line bucket objects bytes
  there=0 elsewhere=0
  mc --json ls restored/ >"$WORK/buckets" || trouble "cannot list the restore's buckets"
  while IFS= read -r line; do
    [[ $line =~ \"key\":\"([^\"/]+)/\" ]] || trouble "cannot list the restore's buckets: $line"
    bucket=${BASH_REMATCH[1]}
    # shellcheck disable=SC2053  # a pattern: others may be seen, and not read
    [[ $bucket == $RESTORED_NAMES ]] || continue
    list "restored/$bucket" "$WORK/there"
    totals "$WORK/there"
    if [[ $bucket == "$INTO" ]]; then there=$bytes; else elsewhere=$((elsewhere + bytes)); fi
  done <"$WORK/buckets"
}

in_gib() { printf '%d.%d GiB' $(($1 * 10 / 1073741824 / 10)) $(($1 * 10 / 1073741824 % 10)); }

# A bucket that is half there when Ceph is full helps nobody, and a full Ceph stops everybody.
room() {
  local needs=$((bytes > there ? bytes - there : 0)) left=$((${ROOM:-0} - there - elsewhere))
  if [[ $ROOM ]] && ((needs > left)); then
    verdict "$INTO needs $(in_gib "$needs") more, and of the $(in_gib "$ROOM") that restored buckets may take" \
      "$(in_gib $((left > 0 ? left : 0))) are left: remove a bucket that was brought back before, or raise the backup's size"
  fi
  if [[ $FREE ]] && ((needs > FREE)); then
    verdict "$INTO needs $(in_gib "$needs") more, and Ceph has $(in_gib "$FREE") left before it is nearly full:" \
      "make room first"
  fi
}

# The new bucket may hold a part of just this backup, from a run that was stopped.
place() {
  if ! mc --json ls "$restored" >"$WORK/said" 2>&1; then
    mc --json mb "$restored" >"$WORK/said" 2>&1 || unmade "$(<"$WORK/said")"
    say "made the bucket $INTO"
  fi
  sort_out "$restored"
  join -t "$tab" -v 2 "$WORK/wanted" "$WORK/there" >"$WORK/foreign"
  (($(lines "$WORK/foreign") + $(lines "$WORK/differing") == 0)) \
    || verdict "$INTO holds what is not of this backup: name another bucket for it"
}

# Only what stays so is final: that it cannot be listed, or made just now, is no more than trouble. A name that no bucket
# can have mc refuses by itself, without a code.
never='"Code": ?"(InvalidBucketName|BucketAlreadyExists|TooManyBuckets)"|"message": ?"Bucket name c(ontains|annot)'
unmade() {  # what mc said
  ! denied "$1" || verdict "the keys of the restore may not make the bucket $INTO: look at its Secret. ${1//$'\n'/ }"
  [[ ! $1 =~ $never ]] || verdict "cannot make the bucket $INTO: ${1//$'\n'/ }"
  refused "cannot make the bucket $INTO" "$WORK/said"
}

copy() {
  wanted
  # Versions that are still the newest go all together; those that were overwritten since one by one.
  mc --json mirror --retry --skip-errors --older-than "$WHEN" --exclude '_gen/backups/*' "$backup" "$restored" \
    | leave=1 judge || not_whole $? "the copy is not whole"
  sort_out "$restored"
  cat "$WORK/missing" "$WORK/differing" >"$WORK/left"
  parallel "$WORK/left" copy_each "$backup" "$restored"
  say "copied $(lines "$WORK/left") older versions"
}

verify() {
  local name unread
  bad=0
  wanted
  sort_out "$restored"
  shuf -n "$SAMPLE" "$WORK/doubtful" >"$WORK/chosen"
  parallel "$WORK/chosen" unlike "$restored"
  told "$WORK/missing" missing
  told "$WORK/differing" "differs in size"
  told "$WORK/found" "differs in content"
  read=$(lines "$WORK/chosen") unread=$(($(lines "$WORK/doubtful") - $(lines "$WORK/chosen")))
  say "$objects objects, $bytes bytes in $INTO: $proven proven by checksum, $read read whole, $unread by name and size"
  ((bad == 0)) || verdict "$bad objects are not in $INTO as they are in the backup"
  for name in objects bytes proven read; do printf '%s' "${!name}" >"$WORK/$name"; done
}

# Sort the wanted objects by what the live bucket needs: missing ones, and ones to replace. One that was written after
# its copy was made is not damaged, but newer.
needs() {
  local key size time sum there since theirs
  kept=0
  list "$live" "$WORK/there"
  join -t "$tab" -a 1 -e - -o 0,1.2,1.3,1.4,2.2,2.3,2.4 "$WORK/wanted" "$WORK/there" >"$WORK/pairs"
  while IFS=$tab read -r key size time sum there since theirs; do
    if [[ $there == - ]]; then printf '%s\n' "$key" >&3
    elif [[ $SWITCH == all ]]; then printf '%s\n' "$key" >&4
    elif ((size == there)) && [[ $sum == "$theirs" && $sum =~ $md5 ]]; then continue
    elif [[ ! $since < $time ]]; then kept=$((kept + 1))
    elif ((size != there)); then printf '%s\n' "$key" >&4
    else printf '%s\n' "$key" >&5
    fi
  done 3>"$WORK/gone" 4>"$WORK/replace" 5>"$WORK/unsure" <"$WORK/pairs"
  parallel "$WORK/unsure" unlike "$live"
  cat "$WORK/found" >>"$WORK/replace"
}

switch() {
  reach live/ "the bucket's owner"
  wanted
  needs
  # All that is missing at once, as after the loss of a bucket; what is there is left to the next line.
  if (($(lines "$WORK/gone"))); then
    mc --json mirror --retry --skip-errors "$restored" "$live" | leave=1 judge || not_whole $? "the copy is not whole"
  fi
  parallel "$WORK/replace" copy_each "$restored" "$live"
  settled
  say "$LIVE_BUCKET: $(lines "$WORK/gone") missing objects are back, $(lines "$WORK/replace") were replaced," \
    "$kept written since their backup were left"
}

# What was brought back is read once more where it is.
settled() {
  bad=0
  sort -o "$WORK/touched" "$WORK/gone" "$WORK/replace"
  sort_out "$live"
  cat "$WORK/missing" "$WORK/differing" | cut -f 1 | sort | join -t "$tab" - "$WORK/touched" >"$WORK/wrong"
  cut -f 1 "$WORK/doubtful" | join -t "$tab" - "$WORK/touched" >"$WORK/unsure"
  parallel "$WORK/unsure" unlike "$live"
  told "$WORK/wrong" "was not brought back"
  told "$WORK/found" "differs in content"
  ((bad == 0)) || verdict "$bad objects are not in $LIVE_BUCKET as they are in the backup; somebody may write there"
}

ends=(backup "$BACKUP_URL" "$BACKUP_ACCESS_KEY" "$BACKUP_SECRET_KEY"
  restored "$LIVE_URL" "$RESTORE_ACCESS_KEY" "$RESTORE_SECRET_KEY")
if [[ ${1-} == switch ]]; then
  owner
  ends+=(live "$LIVE_URL" "$LIVE_ACCESS_KEY" "$LIVE_SECRET_KEY")
fi
configure "${ends[@]}"
case ${1-} in
  precheck | copy | verify | switch) "$1" ;;
  *) verdict "usage: restore.sh precheck|copy|verify|switch" ;;
esac
