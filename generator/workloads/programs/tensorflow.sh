#!/bin/sh
# Starts the program in each pod of the job and tells it of the others, as MultiWorkerMirroredStrategy wants it.
set -eu
workers="" index=0
while [ "$index" -lt "$PODS" ]; do
  workers="$workers${workers:+, }\"$NAME-$index.$NAME:$PORT\""
  index=$((index + 1))
done
TF_CONFIG="{\"cluster\": {\"worker\": [$workers]}, \"task\": {\"type\": \"worker\", \"index\": $JOB_COMPLETION_INDEX}}"
export TF_CONFIG
exec sh "${0%/*}/again.sh" python3 "$@"
