#!/bin/bash
# Try whether a backup brings back what was backed up: drill.sh prove | record
#
# `prove` may only read the backup. It holds all of it against the list that the backup wrote of its source, and brings the
# newest object and some that are drawn by lot, one after the other, into the pod's own folder, where their content is
# compared with the source's checksums. Nothing is written anywhere else, so that there is nothing to clean up.
# Needs and exit codes: see buckets.sh.
set -euo pipefail
# shellcheck source=SCRIPTDIR/buckets.sh
source "${BASH_SOURCE[0]%/*}/buckets.sh"
# shellcheck source=SCRIPTDIR/records.sh
source "${BASH_SOURCE[0]%/*}/records.sh"

list="_gen/backups/_lists/$NAME"
drills="_gen/backups/_drills/$NAME"
brought="$WORK/brought"
# Of an object in parts the checksum is that of its parts' checksums, each part but the last of so many whole MiB. Of a few
# parts many sizes fit: those that programs upload come first, then as many others as there is time for.
part_sizes=(5 8 10 15 16 20 25 32 50 64 100 128 200 256 500 512 1000 1024)
most_sizes=64

# What the backup proved, as it wrote it down; the record says by which checksum it is known.
fetch_list() {
  local text
  text=$(mc cat "$backup/$records/$stamp.json") || trouble "cannot read $backup/$records/$stamp.json"
  [[ $text =~ \"listed\":\"([0-9a-f]{64})\" ]] \
    || verdict "the backup that ended at $(when_of "$stamp") wrote no list of its objects: an older version made it." \
      "Run the backup once more"
  mc cat --rewind "$WHEN" "$backup/$list" >"$WORK/list" || trouble "cannot read $backup/$list"
  [[ $(sha256sum <"$WORK/list" | cut -c 1-64) == "${BASH_REMATCH[1]}" ]] \
    || verdict "$backup/$list is not the list that the backup wrote which ended at $(when_of "$stamp")"
  [[ -s $WORK/list ]] || verdict "the backup that ended at $(when_of "$stamp") is of nothing: no object can be brought back"
}

# Every object that was proven must be there, as large as it was. Those that are go to `whole`, with their version.
compare() {
  local key size time sum there version
  bad=0
  join -t "$tab" -a 1 -e - -o 0,1.2,1.3,1.4,2.2,2.5 "$WORK/list" "$WORK/wanted" >"$WORK/pairs"
  while IFS=$tab read -r key size time sum there version; do
    if [[ $there == - ]]; then report "missing: $key"
    elif ((size != there)); then report "differs in size ($size, backup $there): $key"
    elif [[ $sum == - ]]; then continue  # nothing to hold its content against
    else printf '%s\t%s\t%s\t%s\t%s\n' "$key" "$size" "$time" "$sum" "$version" >&3
    fi
  done 3>"$WORK/whole" <"$WORK/pairs"
}

# The newest object, then others by lot, each once: the same seed draws the same ones from the same list.
draw() {
  local count number=0 key size time more newest='' latest='' drawn=()
  local -A of=()
  count=$(lines "$WORK/whole") RANDOM=$SEED
  for ((number = 0; count && number < 4 * SAMPLE; number++)); do
    drawn+=($(((RANDOM << 30 | RANDOM << 15 | RANDOM) % count)))
    of[${drawn[-1]}]=''
  done
  number=0
  while IFS=$tab read -r key size time more; do
    if [[ -v of[$number] ]]; then of[$number]="$key$tab$size$tab$more"; fi
    if [[ $time > $latest ]]; then latest=$time newest="$key$tab$size$tab$more"; fi
    number=$((number + 1))
  done <"$WORK/whole"
  each_once "$newest" "${drawn[@]}"
}

each_once() {  # newest number...
  local number
  [[ -z $1 ]] || printf '%s\n' "$1"
  for number in "${@:2}"; do
    [[ -z ${of[$number]} || ${of[$number]} == "$1" ]] || printf '%s\n' "${of[$number]}"
    of[$number]=''
  done
}

# Of what was drawn, take as many as may be, and as fit together into the bytes.
take() {
  local line size left=$SAMPLE_BYTES taken=0 large=0
  while ((taken < SAMPLE)) && IFS= read -r line; do
    IFS=$tab read -r _ size _ <<<"$line"
    if ((size > left)); then large=$((large + 1)); continue; fi
    taken=$((taken + 1)) left=$((left - size))
    printf '%s\n' "$line" >&3
  done 3>"$WORK/sample"
  ((large == 0)) || say "$large drawn objects were left out: larger than what was left of $SAMPLE_BYTES bytes"
}

binary() {  # reads checksums in hexadecimal digits: prints their bytes
  local sum digit text
  while read -r sum _; do
    text=''
    for ((digit = 0; digit < 32; digit += 2)); do text+="\\x${sum:digit:2}"; done
    printf '%b' "$text"
  done
}

in_parts() {  # bytes of a part: prints the checksum that what was brought has, uploaded so
  SHELL=$BASH split -b "$1" --filter=md5sum "$brought" | binary | md5sum | cut -c 1-32
}

fitting() {  # bytes parts: prints the parts' sizes in MiB that make so many of it
  local mib one least all=$(($1 >> 20))
  least=$((all / $2 > 0 ? all / $2 : 1))
  for mib in "${part_sizes[@]}"; do
    ((($1 + (mib << 20) - 1) / (mib << 20) != $2)) || printf '%s\n' "$mib"
  done
  for ((mib = least, one = 0; one < most_sizes; mib++, one++)); do
    ((($1 + (mib << 20) - 1) / (mib << 20) != $2)) || printf '%s\n' "$mib"
  done
}

# Sets found: `proven` by the checksum, `unlike`, or `unknown` where nobody can tell in which parts it was uploaded.
judge_content() {  # size sum
  local mib parts=${2##*-}
  found=unlike
  if [[ $2 =~ ^[0-9a-f]{64}$ ]]; then  # what the backup read
    [[ $(sha256sum <"$brought" | cut -c 1-64) != "$2" ]] || found=proven
    return
  fi
  if [[ $2 =~ $md5 ]]; then
    [[ $(md5sum <"$brought" | cut -c 1-32) != "$2" ]] || found=proven
    return
  fi
  [[ $2 =~ ^[0-9a-f]{32}-[0-9]+$ ]] || { found=unknown; return; }
  if ((parts == 1)); then  # a single part is all of it, of whatever size
    [[ $(in_parts $(($1 + 1))) != "${2%-*}" ]] || found=proven
    return
  fi
  found=unknown
  while read -r mib; do
    if [[ $(in_parts $((mib << 20))) == "${2%-*}" ]]; then found=proven; return; fi
  done < <(fitting "$1" "$parts")
}

bring() {  # key version
  local which=() began=${EPOCHREALTIME/./}
  [[ $2 == - ]] || which=(--version-id "$2")
  mc --json cp "${which[@]}" "$backup/$name" "$brought" >&2 </dev/null || trouble "cannot read $backup/$name"
  micros=$((micros + ${EPOCHREALTIME/./} - began))
}

bring_back() {
  local key size sum version
  objects=0 bytes=0 proven=0 unknown=0 micros=0
  while IFS=$tab read -r key size sum version; do
    alone "$key"
    bring "$key" "$version"
    objects=$((objects + 1)) bytes=$((bytes + size))
    judge_content "$size" "$sum"
    case $found in
      proven) proven=$((proven + 1)) ;;
      unknown) unknown=$((unknown + 1)) ;;
      *) report "differs in content: $key" ;;
    esac
  done <"$WORK/sample"
}

timing() {  # sets seconds, and rate: seconds for each GiB, with one decimal
  # shellcheck disable=SC2017  # the product of all would be too large
  local tenths=$((bytes ? micros / 100 * 1073741824 / bytes / 1000 : 0))
  seconds=$((micros / 1000000)) rate=$((tenths / 10)).$((tenths % 10))
}

prove() {
  local name
  reach "$backup/$records/" "the backup's reader"
  choose
  wanted
  fetch_list
  say "the backup that ended at $(when_of "$stamp"): $(lines "$WORK/list") objects were proven then; seed $SEED"
  compare
  draw >"$WORK/drawn"
  take <"$WORK/drawn"
  bring_back
  timing
  say "brought $objects objects back, $bytes bytes in $seconds s ($rate s for each GiB): $proven proven by the source's" \
    "checksum, $unknown whole, in parts of unknown size"
  ((bad == 0)) || verdict "$bad objects of the backup that ended at $(when_of "$stamp") are not as they were backed up"
  ((objects)) || verdict "no object of the backup is so small as $SAMPLE_BYTES bytes and has a checksum: let the" \
    "drill read more"
  ((proven)) || verdict "no object that was brought back could be held against a checksum: all were uploaded in parts of" \
    "unusual size. Upload some of the bucket's objects whole, or in parts of whole MiB, and run the backup again"
  for name in stamp objects bytes proven unknown seconds rate; do printf '%s' "${!name}" >"$WORK/$name"; done
}

record() {
  local text client
  read -r client < <(mc --version)
  printf -v text '{"backup":%s,"of":"%s","seed":%d,"objects":%d,"bytes":%d,"proven":%d,"unknown":%d,' \
    "$(quoted "$NAME")" "$(when_of "$STAMP")" "$SEED" "$OBJECTS" "$BYTES" "$PROVEN" "$UNKNOWN"
  printf -v text '%s"seconds":%d,"secondsPerGiB":%s,"started":"%s","finished":"%s","client":%s}' \
    "$text" "$SECONDS_TAKEN" "$RATE" "$(date -d "@$SINCE" +%FT%TZ)" "$(date +%FT%TZ)" "$(quoted "$client")"
  write_record "$backup/$drills/$(date +%Y%m%dT%H%M%SZ).json" "$text"
}

SEED=${SEED:-$SINCE}
[[ $SEED =~ ^[0-9]{1,15}$ ]] || verdict "seed is a number, not $SEED"
configure backup "$BACKUP_URL" "$BACKUP_ACCESS_KEY" "$BACKUP_SECRET_KEY"
case ${1-} in
  prove | record) "$1" ;;
  *) verdict "usage: drill.sh prove|record" ;;
esac
