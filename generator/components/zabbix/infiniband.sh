#!/bin/bash
# Prints the InfiniBand ports of this node as JSON, one object a port: state, rate in Gbit/s and the kernel's counters.
# A port of a device that speaks Ethernet (RoCE) is left out.
root=${1:-/sys/class/infiniband}
shopt -s nullglob
separator=
printf '['
for port in "$root"/*/ports/*; do
    [ "$(cat "$port/link_layer" 2>/dev/null)" = InfiniBand ] || continue
    device=${port%/ports/*}
    read -r state <"$port/state"
    read -r physical <"$port/phys_state"
    read -r rate <"$port/rate"
    printf '%s{"name":"%s/%s","state":%d,"physical":%d,"rate":%s' "$separator" "${device##*/}" "${port##*/}" \
        "${state%%:*}" "${physical%%:*}" "${rate%% *}"
    for file in "$port"/counters/*; do
        # Some drivers refuse to read a counter that they list.
        value=$(cat "$file" 2>/dev/null) || continue
        case $value in
        '' | *[!0-9]*) continue ;;
        esac
        printf ',"%s":%s' "${file##*/}" "$value"
    done
    printf '}'
    separator=,
done
printf ']\n'
