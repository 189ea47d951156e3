#!/bin/bash
# Copy a bucket, or a folder of another volume, into a volume, and prove that all of it is there.
#
# Needs what the client image holds: bash, coreutils and mc. What is there already, in the same size, is not copied
# again: a run that was stopped is gone on with. Nothing is deleted. Exit code 1: the Job tries again.
set -euo pipefail
# shellcheck source=/dev/null
source "${BASH_SOURCE[0]%/*}/client.sh"

mkdir -p "$MC_CONFIG_DIR" "$INTO"
if [[ ${CA:-} ]]; then
  mkdir -p "$MC_CONFIG_DIR/certs/CAs"
  cat "$CA" >"$MC_CONFIG_DIR/certs/CAs/ca.crt"
fi
[[ -z ${URL:-} ]] || configure source "$URL" "$ACCESS_KEY" "$SECRET_KEY"

# mc ends well where a single file could not be copied: what counts is what is missing afterwards.
mc --quiet mirror --overwrite --retry --skip-errors "$FROM" "$INTO" || say "not all was copied: looking for it"

found=$(mc --json diff "$FROM" "$INTO") || trouble "cannot compare $FROM and $INTO"
missing=0
while IFS= read -r line; do
  # What is in the volume alone was there before.
  case $line in
    '' | *'"first":""'*) ;;
    *) missing=$((missing + 1)); say "missing or of another size: $line" ;;
  esac
done <<<"$found"
((missing == 0)) || trouble "$missing files of $FROM are not in $INTO"
say "all of $FROM is in $INTO"
