#!/bin/sh
# Starts the program in each pod of the job, one process for all GPUs of the pod; it asks for these variables.
set -eu
export COORDINATOR_ADDRESS="$MEET:$PORT" NUM_PROCESSES="$PODS" PROCESS_ID="$JOB_COMPLETION_INDEX"
exec sh "${0%/*}/again.sh" python3 "$@"
