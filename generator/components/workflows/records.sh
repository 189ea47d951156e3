#!/bin/bash
# What the scripts share that read a backup back, by its records; they read it after buckets.sh, nobody runs it.
# shellcheck shell=bash disable=SC2034,SC2154  # variables of buckets.sh, and for who reads this
backup="backup/$BACKUP_BUCKET"
records="_gen/backups/$NAME"
md5='^[0-9a-f]{32}$'

# Somebody waits: keys that are wrong, or may not, are told at once and not tried again.
reach() {  # place whose
  local said
  said=$(timeout "$READY_SECONDS" mc --json ls "$1" 2>&1) && return
  ! denied "$said" || verdict "the keys of $2 are not accepted, or may not read: look at its Secret. ${said//$'\n'/ }"
  trouble "$1 does not answer: ${said//$'\n'/ }"
}

denied() {  # what mc said: whether keys are wrong, or may not
  case $1 in
    *'Access Key Id you provided does not exist'* | *'signature we calculated does not match'* | *'Access Denied'* | \
      *InvalidAccessKeyId* | *SignatureDoesNotMatch* | *AccessDenied* | *UserSuspended*) ;;
    *) return 1 ;;
  esac
}

when_of() { printf '%s' "${1:0:4}-${1:4:2}-${1:6:2}T${1:9:2}:${1:11:2}:${1:13:2}Z"; }  # a record's stamp

# Choose the newest good backup that had ended by then: sets stamp, and WHEN for `mc --rewind`.
choose() {
  local first
  newest_by "$backup/$records" "$AT"
  [[ $first ]] || verdict "there is no good backup: $backup/$records holds no record"
  [[ $stamp ]] || verdict "${AT:-now} is before the first good backup, which ended at $(when_of "$first")"
  # What was copied in the second of the record belongs to it.
  WHEN=$(date -d "@$(($(date -d "$(when_of "$stamp")" +%s) + 1))" +%FT%TZ)
}

# The objects as they were when that backup had ended, without our records.
wanted() {
  local line
  list "$backup" "$WORK/everything" --rewind "$WHEN"
  while IFS= read -r line; do
    [[ $line == _gen/backups/* ]] || printf '%s\n' "$line"
  done <"$WORK/everything" >"$WORK/wanted"
  totals "$WORK/wanted"
}

lines() { wc -l <"$1"; }

alone() {  # sets name, of an object that is handled by itself
  [[ $1 != *'\u2'* ]] || trouble "mc cannot be told this name: $1"
  name_of "$1"
}
