#!/bin/bash
# What scripts share that copy and compare buckets; they read it, nobody runs it.
#
# Needs only what the client image holds: bash, coreutils and mc (no awk, grep, sed or jq).
set -euo pipefail
export LC_ALL=C TZ=UTC MC_QUIET=1 MC_DISABLE_PAGER=1 MC_NO_COLOR=1
tab=$'\t'

# shellcheck source=SCRIPTDIR/client.sh
source "${BASH_SOURCE[0]%/*}/client.sh"

umask 077
mkdir -p "$WORK"

# What is no number, as of somebody's own run, ends the first step: later ones would stumble over it after hours of
# copying, and be tried again for it. Some may be left out.
for figure in SAMPLE SAMPLE_BYTES SHRINK_PERCENT ROOM FREE LOCK_DAYS; do
  [[ -v $figure ]] || continue
  given=${!figure}
  # 064 is 64, as for steps in Python; arithmetic takes it for octal.
  [[ $given =~ ^0*([0-9]{1,18})$ ]] && printf -v "$figure" %s "${BASH_REMATCH[1]}" && continue
  [[ $figure$given =~ ^(ROOM|FREE|LOCK_DAYS)$ ]] && continue
  figure=${figure,,}
  verdict "${figure//_/-} is a whole number, not $given"
done

# What `mc --json ls` prints, as lines of key (in JSON's spelling), size, time, checksum (ETag) and version, `-` where
# there is none; anything unexpected ends it.
rows() {
  local line rest key time sum version why='' full=''
  while IFS= read -r line; do
    case $line in
      # As of a time mc lists what was deleted by then as well. In keys every quote has a backslash before it.
      '{"status":"success","type":"file",'*',"isDeleteMarker":true'* | '{"status":"success","type":"folder",'*) continue ;;
      '{"status":"success","type":"file",'*) ;;
      *) because "$line"; say "mc: $line" >&2; trouble "cannot list${why:+: $why}" ;;
    esac
    time=${line#*'"lastModified":"'}
    rest=${line#*'"size":'}
    key=${rest#*',"key":"'}
    sum=${key#*'","etag":"'} sum=${sum%%'"'*}
    version=-
    [[ $key != *'","versionId":"'* ]] || { version=${key#*'","versionId":"'}; version=${version%%'"'*}; }
    printf '%s\t%s\t%s\t%s\t%s\n' "${key%%'","'*}" "${rest%%,*}" "${time:0:19}" "${sum:--}" "${version:--}"
  done
}

list() {  # bucket file [option of mc]...
  mc --json ls --recursive "${@:3}" "$1" | rows | sort -t "$tab" -k 1,1 -T "$WORK" >"$2" \
    || trouble "the listing of $1 is not whole"
}

totals() {  # file: sets objects and bytes
  local size
  objects=0 bytes=0
  while IFS=$tab read -r _ size _; do
    objects=$((objects + 1)) bytes=$((bytes + size))
  done <"$1"
}

# Every line must report one object, or the summary. mc reports an object before it copies it, exits 0 after some errors,
# and prints errors over several lines. With `leave=1` what is there already is left as it is, and is no error.
judge() {
  local line more bad=0 copied=0 why='' full=''
  while IFS= read -r line; do
    if [[ ${leave-} && $line == '{' ]]; then
      while [[ $line != *$'\n}' ]] && IFS= read -r more; do line+=$'\n'$more; done
    fi
    case $line in
      *'Overwrite not allowed'*) [[ ${leave-} ]] || bad=$((bad + 1)) ;;
      '{"status":"success","source":'*) copied=$((copied + 1)) ;;
      '{"status":"success",'*) ;;
      *) bad=$((bad + 1)); ((bad > 20)) || say "mc: $line" >&2; because "$line" ;;
    esac
  done
  [[ ! $full ]] || verdict "$no_more: $full"
  ((bad == 0)) || trouble "mc reported errors in $bad lines${why:+, the last for this: $why}"
  say "copied $copied objects"
}

message='.*"message": ?"(([^"\\]|\\.)*)' no_room='"Code": ?"(XMinioAdminBucketQuotaExceeded|XMinioStorageFull|QuotaExceeded)"'
no_more="there is no room where it goes, or its quota is reached"
# Sets why, to the innermost message of an error, and full, where it is that there is no room: codes of MinIO and Ceph.
because() {  # line of mc
  [[ ! $1 =~ $message ]] || why=${BASH_REMATCH[1]:0:300}
  [[ ! $1 =~ $no_room ]] || full=$why
}

refused() {  # what, file with what mc said
  local line why='' full=''
  while IFS= read -r line; do because "$line"; done <"$2"
  cat "$2" >&2
  [[ ! $full ]] || verdict "$1: $no_more: $full"
  trouble "$1${why:+: $why}"
}

not_whole() {  # code what: ends as the last part of a pipe did
  (($1 != 2)) || verdict "$2"
  trouble "$2"
}

report() {
  bad=$((bad + 1))
  ((bad > 20)) || say "$*" >&2
}

# shellcheck disable=SC2034,SC2059  # as a format, because %b leaves \" as it is; who reads this file uses the name
name_of() { printf -v name -- "${1//%/%%}"; }  # key in JSON's spelling: sets name

# shellcheck disable=SC2034  # who reads this file uses the names
# Sets stamp, of the newest record that is not after a time, and first, of the oldest there is; empty where there is none.
newest_by() {  # folder of records, time or nothing
  local one until
  first='' stamp='' until=$(soon)
  [[ -z $2 ]] || until=$(date -d "$2" +%Y%m%dT%H%M%SZ) || verdict "$2 is no time: say 2026-11-20T00:00:00Z"
  list "$1/" "$WORK/records"
  while IFS=$tab read -r one _; do
    one=${one%.json} first=${first:-$one}
    [[ $one > $until ]] || stamp=$one
  done <"$WORK/records"
}
