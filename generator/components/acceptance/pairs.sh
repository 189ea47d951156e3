#!/bin/sh
# Each pod writes to the memory of the one before it, over each HCA, from host and from GPU memory: in round 0 pods 1 to
# 0, 3 to 2 and so on, in round 1 pods 2 to 1, 4 to 3 and so on. A node that is bad is slow with both of its neighbours.
# What a client says stands between two lines that begin with `==`; a pod fails only where it cannot begin.
set -u
SYS=${SYS:-/sys}
command -v ib_write_bw >/dev/null || { echo "the image has no ib_write_bw (perftest)" >&2; exit 127; }
said=$(mktemp)
# That of the pod, which ends with its index.
own_name=${OWN_NAME:-$(uname -n)}

# The GPU that shares most of its way through PCIe with an HCA: another one's memory is reached at a part of the rate.
near() {
  hca=$(readlink -f "$SYS/class/infiniband/$1/device")
  nvidia-smi --query-gpu=index,pci.bus_id --format=csv,noheader | while IFS=', ' read -r index bus; do
    bus=$(printf '%s' "$bus" | tr '[:upper:]' '[:lower:]' | sed 's/^0000//')
    printf '%s %s\n' "$index" "$(readlink -f "$SYS/bus/pci/devices/$bus")"
  done | awk -v of="$hca" '{
    n = split($2, a, "/"); split(of, b, "/")
    for (i = 1; i <= n && a[i] == b[i]; i++);
    if (i > most) { most = i; best = $1 }
  } END { print best }'
}

memory() {
  [ "$2" = cuda ] || return 0
  printf -- '--use_cuda=%s --use_cuda_dmabuf' "$(near "$1")"
}

write() {  # hca memory port server: no server is to be one
  # shellcheck disable=SC2046  # two words, or none
  timeout "$((PATIENCE + SECONDS_EACH))" ib_write_bw -d "$1" -p "$3" -F -s 8388608 --report_gbits \
    -D "$SECONDS_EACH" $(memory "$1" "$2") ${4:+"$4"}
}

port=18515
for round in 0 1; do
  place=$((JOB_COMPLETION_INDEX - round))
  for hca in $HCAS; do
    for memory in $MEMORIES; do
      port=$((port + 1))
      [ "$place" -ge 0 ] || continue
      if [ "$((place % 2))" = 0 ]; then
        [ "$((JOB_COMPLETION_INDEX + 1))" -lt "$PODS" ] || continue
        write "$hca" "$memory" "$port" >"$said" 2>&1 || sed "s/^/server: /" "$said"
        continue
      fi
      echo "== pair $round $((JOB_COMPLETION_INDEX - 1)) $JOB_COMPLETION_INDEX $hca $memory"
      end=$(($(date +%s) + PATIENCE))
      until write "$hca" "$memory" "$port" "${own_name%-*}-$((JOB_COMPLETION_INDEX - 1)).$SUBDOMAIN" >"$said" 2>&1; do
        # The neighbour may be on its way still.
        if ! grep -q "Couldn't connect" "$said" || [ "$(date +%s)" -ge "$end" ]; then break; fi
        sleep 1
      done
      cat "$said"
      echo "== end"
    done
  done
done
