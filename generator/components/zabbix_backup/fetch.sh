#!/bin/bash
# Bring a dump back from the bucket into $WORK: fetch.sh
#   zabbix.dump  the newest, or the newest that was taken by $AT; the very one that its record is about
#   chosen       when it was taken
#   record.json  what its record says
# Needs only what the client image holds: bash, coreutils and mc (no awk, grep, sed or jq).
# Exit code 1: trouble that may pass. Exit code 2: a verdict, trying again does not help.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../workflows/buckets.sh
source "${BASH_SOURCE[0]%/*}/buckets.sh"

key="target/$TARGET_BUCKET/$KEY"
records="target/$TARGET_BUCKET/_gen/backups/$NAME"

choose() { # sets stamp, and sum: what its record says of it
  local text
  newest_by "$records" "$AT"
  [[ $stamp ]] || verdict "no dump was taken${AT:+ by $AT}: $records holds no such record"
  text=$(mc cat "$records/$stamp.json") || trouble "cannot read $records/$stamp.json"
  [[ $text =~ \"sha256\":\"([0-9a-f]{64})\" ]] || verdict "$records/$stamp.json is not a record of ours"
  sum=${BASH_REMATCH[1]}
  printf '%s\n' "$text" >"$WORK/record.json"
  say "chosen: $text"
}

# Each dump is a version of one object: the one of that time says so.
find_version() {
  local line one said
  version=''
  mc --json ls --versions "$key" >"$WORK/versions" || trouble "cannot list the versions of $key"
  while IFS= read -r line && [[ ! $version ]]; do
    [[ $line =~ \"versionId\":\"([^\"]+)\" && $line != *'"isDeleteMarker":true'* ]] || continue
    one=${BASH_REMATCH[1]}
    said=$(mc --json stat --version-id "$one" "$key") || trouble "cannot look at version $one of $key"
    [[ ! $said =~ \"[Xx]-[Aa]mz-[Mm]eta-[Tt]aken\":\"$stamp\" ]] || version=$one
  done <"$WORK/versions"
  [[ $version ]] || verdict "the dump of $stamp is gone: older ones are kept for expireVersions days only. Ask for a later one"
}

fetch() {
  mc cp --version-id "$version" "$key" "$WORK/zabbix.dump.part" >/dev/null || trouble "the copy is not whole"
  [[ $(sha256sum <"$WORK/zabbix.dump.part" | cut -c 1-64) == "$sum" ]] ||
    verdict "the dump of $stamp is not what its record says: it was damaged, or written over. Ask for another with \`at\`"
  mv "$WORK/zabbix.dump.part" "$WORK/zabbix.dump"
  printf '%s' "$stamp" >"$WORK/chosen"
  say "brought the dump of $stamp"
}

configure target "$TARGET_URL" "$TARGET_ACCESS_KEY" "$TARGET_SECRET_KEY"
choose
find_version
fetch
