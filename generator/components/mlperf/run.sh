#!/bin/sh
# Runs in each pod of a benchmark: looks at the GPUs' compute mode, starts the harness, prints LoadGen's summary. The pod
# with index 0 has it; the others have their part of the work alone.
set -eu
found=$(nvidia-smi --query-gpu=compute_mode --format=csv,noheader | sort -u)
if [ "$COMPUTE_MODE" != any ] && [ "$found" != "$COMPUTE_MODE" ]; then
  echo "the GPUs of $NODE are in compute mode $(echo "$found" | tr '\n' ' '), and not $COMPUTE_MODE" >&2
  exit 3
fi
mkdir -p "$OUTPUT"
"$@"
[ "$JOB_COMPLETION_INDEX" = 0 ] || exit 0
summary="$OUTPUT/mlperf_log_summary.txt"
[ -f "$summary" ] || { echo "the harness ended well, and left no $summary" >&2; exit 4; }
echo "----- LoadGen's summary -----"
cat "$summary"
echo "----- end of LoadGen's summary -----"
