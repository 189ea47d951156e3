#!/bin/bash
# What the scripts of backups share. Exit code 1: trouble that may pass, try again. Exit code 2: a verdict, trying again
# does not help.

say() { printf '%s %s\n' "$(date +%FT%TZ)" "$*"; }
trouble() { say "error: $*" >&2; last_words "$*"; exit 1; }
verdict() { say "FAILED: $*" >&2; last_words "$*"; exit 2; }

# What was said within, as of a part of a pipe, is the reason of what is said last.
last_words() {  # what: becomes the message of the step, which its exit handler sends on
  local to=${termination_log:-/dev/termination-log} why=''
  [[ -w $to ]] || return 0
  [[ ! -r $to ]] || why=$(<"$to")
  printf '%.1000s' "$1${why:+: $why}" 2>/dev/null >"$to" || :
}

# What is named for a later time was named by a clock that was wrong, and would pass for the newest until then: S3 takes no
# request whose clock is a quarter of an hour off.
soon() { date -d "@$(($(date +%s) + 900))" +%Y%m%dT%H%M%SZ; }

quoted() {
  local text=${1//\\/\\\\}
  printf '"%s"' "${text//\"/\\\"}"
}

alias_of() {  # url access secret: keys may hold any character, and stand in no command line
  printf '{"url":%s,"accessKey":%s,"secretKey":%s,"api":"S3v4","path":"auto"}' \
    "$(quoted "$1")" "$(quoted "$2")" "$(quoted "$3")"
}

configure() {  # alias url access secret, for each side
  local text=
  umask 077
  while (($#)); do
    text+="${text:+,}$(quoted "$1"):$(alias_of "$2" "$3" "$4")"
    shift 4
  done
  printf '{"version":"10","aliases":{%s}}\n' "$text" >"$MC_CONFIG_DIR/config.json"
}

digest() { mc cat "${@:2}" "$1" | sha256sum | cut -c 1-64; }  # object [option of mc]...

write_record() {  # object text
  printf '%s\n' "$2" | mc pipe "$1" || trouble "cannot write the record"
  [[ $(mc cat "$1") == "$2" ]] || trouble "the record does not read back"
  say "wrote $1: $2"
}
