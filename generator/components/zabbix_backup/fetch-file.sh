#!/bin/bash
# Bring a dump, and its record, back from a folder of an NFS export into $WORK, as fetch.sh does from a bucket:
# fetch-file.sh
# Exit code 1: trouble that may pass. Exit code 2: a verdict, trying again does not help.
set -euo pipefail
export LC_ALL=C TZ=UTC
# shellcheck source=SCRIPTDIR/../workflows/client.sh
source "${BASH_SOURCE[0]%/*}/client.sh"

folder="$TARGET/$TARGET_BUCKET/$NAME"
stamp='' until=$(soon)
[[ -z $AT ]] || until=$(date -d "$AT" +%Y%m%dT%H%M%SZ) || verdict "$AT is no time: say 2026-11-20T00:00:00Z"
for file in "$folder"/*.json; do
  one=${file##*/} one=${one%.json}
  [[ ! -f $file || $one > $until ]] || stamp=$one
done
[[ $stamp ]] || verdict "no dump was taken${AT:+ by $AT}: $folder holds no such record"
text=$(<"$folder/$stamp.json")
[[ $text =~ \"sha256\":\"([0-9a-f]{64})\" ]] || verdict "$folder/$stamp.json is not a record of ours"
printf '%s\n' "$text" >"$WORK/record.json"
say "chosen: $text"
cp "$folder/$stamp.dump" "$WORK/zabbix.dump.part" || trouble "cannot read $folder/$stamp.dump"
[[ $(sha256sum <"$WORK/zabbix.dump.part" | cut -c 1-64) == "${BASH_REMATCH[1]}" ]] \
  || verdict "the dump of $stamp is not what its record says: it was damaged, or written over. Ask for another with \`at\`"
mv "$WORK/zabbix.dump.part" "$WORK/zabbix.dump"
printf '%s' "$stamp" >"$WORK/chosen"
say "brought the dump of $stamp"
