#!/bin/sh
# Asks MinIO as its root user: $1 is `drives` or `sample`. With the environment and files of setup.sh, and as it with no
# more than the shell, coreutils and `mc`. What it finds is what the pod ends with.
set -eu
: "${SECRETS:=/run/minio-setup}"
: "${SCHEME:=https}"
: "${TOLD:=/dev/termination-log}"
MC_CONFIG_DIR=${MC_CONFIG_DIR:-/tmp/mc}
HOME=$MC_CONFIG_DIR
export HOME MC_CONFIG_DIR
mkdir -p "$MC_CONFIG_DIR/certs/CAs"
cat "$SECRETS/ca.crt" >"$MC_CONFIG_DIR/certs/CAs/ca.crt"
MC_HOST_site="$SCHEME://$(cat "$SECRETS/root/rootUser"):$(cat "$SECRETS/root/rootPassword")@$ENDPOINT"
export MC_HOST_site

fail() { # the exit code, why
    code=$1
    shift
    echo "$*" >"$TOLD"
    exit "$code"
}

field() { # a line, a key: what stands there, without its quotes
    rest=${1#*\""$2"\":}
    rest=${rest#\"}
    rest=${rest%%[,\}]*}
    echo "${rest%\"}"
}

# Of all: each that is not good or is healed now, how many are offline, how many there are. Of the drive that is named, by
# its server and its number, also how it was healed: MinIO tells that for as long as there is the drive.
drives() {
    timeout 60 mc --json admin info site >"$MC_CONFIG_DIR/info" || fail 75 "MinIO does not answer its administrator"
    tr -d ' \n' <"$MC_CONFIG_DIR/info" | tr '{' '\n' >"$MC_CONFIG_DIR/parts"
    echo >>"$MC_CONFIG_DIR/parts" # the end of its last line
    count=0 offline='' healed=''
    while read -r line; do
        case "$line" in
        *'"heal_id":'*)
            end=$(field "$line" endpoint)
            finished=$(case "$line" in *'"finished":true'*) echo finished ;; *) echo running ;; esac)
            numbers="$(field "$line" items_failed) $(field "$line" bytes_done)"
            told="heal $end $finished $numbers $(field "$line" heal_id)"
            case "$finished $end" in
            running*) echo "$told" ;;
            *"/${1:-}"[./]*"export-${2:-}") healed=$told ;;
            esac
            ;;
        *'"offlineDisks":'*)
            offline=$(field "$line" offlineDisks)
            ;;
        *'"endpoint":'*'"state":'*) # a server's state stands before its endpoint
            count=$((count + 1))
            state=$(field "$line" state)
            [ "$state" = ok ] || echo "bad $(field "$line" endpoint) $state"
            ;;
        esac
    done <"$MC_CONFIG_DIR/parts"
    # The last lines are those that are told for certain.
    [ -z "$healed" ] || echo "$healed"
    echo "offline $offline"
    echo "drives $count"
}

sample() { # small objects of each bucket: reads them, which compares what is on drives with its checksums
    read=0
    mc --json ls site >"$MC_CONFIG_DIR/buckets"
    while read -r line; do
        bucket=$(field "$line" key)
        # Of a large bucket no more is listed than a minute gives, with which `timeout` ends it (124).
        timeout 60 mc find "site/${bucket%/}" --smaller 16MiB >"$MC_CONFIG_DIR/found" 2>/dev/null || [ $? -eq 124 ] ||
            fail 75 "the objects of ${bucket%/} cannot be listed"
        head -n "$1" "$MC_CONFIG_DIR/found" >"$MC_CONFIG_DIR/objects"
        while read -r object; do
            if mc cat "$object" >/dev/null; then
                read=$((read + 1))
            elif mc stat "$object" >/dev/null 2>&1; then # else somebody has deleted it meanwhile
                fail 1 "cannot be read: $object"
            fi
        done <"$MC_CONFIG_DIR/objects"
    done <"$MC_CONFIG_DIR/buckets"
    echo "read $read"
}

verb=$1
shift
"$verb" "$@" >"$MC_CONFIG_DIR/answer"
# Kubernetes keeps 4 KiB: whole lines of them.
tail -c 4000 "$MC_CONFIG_DIR/answer" | {
    [ "$(wc -c <"$MC_CONFIG_DIR/answer")" -le 4000 ] || read -r _
    cat
} >"$TOLD"
