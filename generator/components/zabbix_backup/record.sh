#!/bin/bash
# Bring what a drill of a dump found from $WORK/drill.json to the bucket: record.sh
# With the word `folder` behind it goes to a folder of an NFS export: folder.sh.
#
# Needs only what the client image holds: bash, coreutils and mc. Exit code 1: trouble that may pass.
set -euo pipefail
export LC_ALL=C TZ=UTC MC_QUIET=1 MC_DISABLE_PAGER=1 MC_NO_COLOR=1
# shellcheck source=SCRIPTDIR/../workflows/client.sh
source "${BASH_SOURCE[0]%/*}/client.sh"

stamp=$(date +%Y%m%dT%H%M%SZ)
records="target/$TARGET_BUCKET/_gen/backups/_drills/$NAME"
if [[ ${1-} == folder ]]; then
  # shellcheck source=SCRIPTDIR/../workflows/folder.sh
  source "${BASH_SOURCE[0]%/*}/folder.sh"
  folder=$folder/_drills ENDING=.none
  records=$folder
  said=$(mkdir -p "$folder" 2>&1) || wrote "$said"
fi
configure target "${TARGET_URL-}" "${TARGET_ACCESS_KEY-}" "${TARGET_SECRET_KEY-}"
write_record "$records/$stamp.json" "$(<"$WORK/drill.json")"
