#!/bin/sh
# Starts torchrun in each pod of the job; all meet at the pod with index 0, whose image may be pulled for long after the
# others have begun. When a process fails, or a pod was made again, they meet once more and start the program anew, which
# goes on from its last checkpoint.
set -eu
host=false
[ "$JOB_COMPLETION_INDEX" != 0 ] || host=true
exec sh "${0%/*}/again.sh" torchrun --nnodes="$PODS" --nproc_per_node="$GPUS" --max_restarts="$RESTARTS" \
  --rdzv_id="$NAME" --rdzv_backend=c10d --rdzv_endpoint="$MEET:$PORT" \
  --rdzv_conf="is_host=$host,join_timeout=$PATIENCE,read_timeout=$PATIENCE" "$@"
