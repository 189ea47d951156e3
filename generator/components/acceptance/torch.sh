#!/bin/sh
# Runs a program of PyTorch that lies beside it: torchrun starts one process for each GPU of each pod, and all meet at the
# pod with index 0.
# Nothing is begun anew: a process that ends ends the test, and its last words are the last that is said.
set -eu
command -v torchrun >/dev/null || { echo "the image has no torchrun (PyTorch, built with CUDA and NCCL)" >&2; exit 127; }
# That of the pod, which ends with its index.
OWN_NAME=${OWN_NAME:-$(uname -n)}
SAID=$(mktemp)
export OWN_NAME SAID
meet=${MEET:-${OWN_NAME%-*}-0.$SUBDOMAIN}

# A name is known a moment after its pod runs, and torchrun asks for it once.
end=$(($(date +%s) + PATIENCE))
until python3 -c 'import socket, sys; socket.getaddrinfo(sys.argv[1], None)' "$meet" 2>/dev/null; do
  [ "$(date +%s)" -lt "$end" ] || { echo "$meet has had no address for $PATIENCE s" >&2; exit 1; }
  sleep 1
done

torchrun --nnodes="$PODS" --nproc_per_node="$GPUS" --node_rank="$JOB_COMPLETION_INDEX" --max_restarts=0 \
  --master_addr="$meet" --master_port="$PORT" --rdzv_conf="timeout=$PATIENCE" "${0%/*}/$1" || {
  code=$?
  [ -s "$SAID" ] || echo "a process was killed or ended without a word, torchrun with $code: see what stands above" >"$SAID"
  cat "$SAID"
  exit "$code"
}
