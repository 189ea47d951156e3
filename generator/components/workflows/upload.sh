#!/bin/bash
# Bring the newest of the files in a folder to the bucket, and prove it: upload.sh
# With the word `folder` behind it goes to a folder of an NFS export: folder.sh.
#
# Each file is `TIME$ENDING` with `TIME.json` about it, written last, which holds at least `taken` and `sha256`. The key in
# the bucket is always the same: its former versions are the older ones, which the bucket keeps for its days. Where
# `TIME.keys.age` lies beside it, that goes to `keys.age` beside the key. Who names a folder SAID
# is told in its file `stored` when what is newest there was taken, in seconds since 1970.
# Needs only what the client image holds: bash, coreutils and mc (no awk, grep, sed or jq).
# Exit code 1: trouble that may pass, or not be there elsewhere. Exit code 2: a verdict.
set -euo pipefail
export LC_ALL=C TZ=UTC MC_QUIET=1 MC_DISABLE_PAGER=1 MC_NO_COLOR=1
# shellcheck source=SCRIPTDIR/client.sh
source "${BASH_SOURCE[0]%/*}/client.sh"
# shellcheck source=SCRIPTDIR/ready.sh
source "${BASH_SOURCE[0]%/*}/ready.sh"

key="target/$TARGET_BUCKET/${KEY-}"
keys=${key%/*}/keys.age
records="target/$TARGET_BUCKET/_gen/backups/$NAME"

newest() { # sets stamp, and text: what is said of the newest file
  local file one
  stamp=''
  for file in "$FILES"/*.json; do
    one=${file##*/} one=${one%.json}
    [[ ! -f $file || $one > $latest ]] || stamp=$one
  done
  [[ $stamp ]] || trouble "$FROM has nothing to bring: $LOOK"
  text=$(<"$FILES/$stamp.json")
}

field() { # name: its value in `text`
  [[ $text =~ \"$1\":\"?([^\",}]+) ]] || trouble "$FILES/$stamp.json of $FROM says no $1"
  printf '%s' "${BASH_REMATCH[1]}"
}

tell_stored() { # stamp
  local to=${SAID-}
  [[ $to ]] || return 0
  mkdir -p "$to"
  date -d "${1:0:8} ${1:9:2}:${1:11:2}:${1:13:2}" +%s >"$to/stored"
}

fresh() {
  local taken
  taken=$(date -d "$(field taken)" +%s) || trouble "$FILES/$stamp.json of $FROM has no time"
  ((SINCE - taken <= MAX_AGE)) || trouble "the newest of $FROM is of $(field taken): $LOOK"
}

whole() {
  [[ $(sha256sum <"$FILES/$stamp$ENDING" | cut -c 1-64) == "$sum" ]] || trouble "$stamp of $FROM is not as it was taken"
}

# What is there may be newer, from elsewhere: an older one over it would be taken for the newest.
overtaken() {  # sets newer, to the stamp of what is there
  local there
  there=$(mc --json stat "$key" 2>&1) || absent "$there"
  [[ $there =~ \"[Xx]-[Aa]mz-[Mm]eta-[Tt]aken\":\"([0-9TZ]+)\" ]] || return 1
  newer=${BASH_REMATCH[1]}
  [[ $newer > $stamp && ! $newer > $latest ]]
}

# Who may not list is refused where nothing is. No other answer says that nothing is there.
absent() {  # what mc said
  case $1 in
    *NoSuchKey* | *'does not exist'* | *AccessDenied* | *'Access Denied'*) ;;
    *) trouble "cannot ask for $key: ${1//$'\n'/ }" ;;
  esac
}

# What nothing reads it without, where a node lays that beside it: as of etcd the certificates and keys of its time. First,
# so that what is newest in the bucket never lacks them.
beside() {
  local file=$FILES/$stamp.keys.age there
  [[ -f $file ]] || return 0
  bring "$file" "$keys" || trouble "the copy of the keys is not whole"
  there=$(digest "$keys") || trouble "cannot read $keys back"
  [[ $there == "$(sha256sum <"$file" | cut -c 1-64)" ]] || verdict "what $keys gives back is not what was brought there"
}

bring() { mc cp --attr "taken=$stamp" "$1" "$2" >/dev/null; }  # from to

upload() {
  local there newer=''
  ready
  if overtaken; then
    say "a newer one than $stamp of $FROM is there"
    tell_stored "$newer"
    exit 0
  fi
  beside
  bring "$FILES/$stamp$ENDING" "$key" || trouble "the copy is not whole"
  there=$(digest "$key") || trouble "cannot read $key back"
  [[ $there == "$sum" ]] || verdict "what $key gives back is not what was brought there"
  say "brought $stamp of $FROM to $key"
}

# shellcheck source=SCRIPTDIR/folder.sh
[[ ${1-} != folder ]] || source "${BASH_SOURCE[0]%/*}/folder.sh"
configure target "${TARGET_URL-}" "${TARGET_ACCESS_KEY-}" "${TARGET_SECRET_KEY-}"
latest=$(soon)
newest
sum=$(field sha256)
fresh
whole
upload
write_record "$records/$stamp.json" "$text"
tell_stored "$stamp"
