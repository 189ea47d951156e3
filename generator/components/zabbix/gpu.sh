#!/bin/bash
# Prints the metrics of this node's DCGM exporter that the template uses. The agent's image has no HTTP client, and its
# own web check keeps the headers and chunks: HTTP/1.0 has no chunks.
set -o pipefail
exec 3<>"/dev/tcp/$1/$2" || exit 1
printf 'GET /metrics HTTP/1.0\r\nHost: %s\r\n\r\n' "$1" >&3
grep -aE '^DCGM_FI_DEV_(GPU_UTIL|GPU_TEMP|MEMORY_TEMP|FB_USED|FB_FREE|POWER_USAGE|XID_ERRORS|PCIE_REPLAY_COUNTER|UNCORRECTABLE_REMAPPED_ROWS|CORRECTABLE_REMAPPED_ROWS|ROW_REMAP_FAILURE)[{ ]' <&3
