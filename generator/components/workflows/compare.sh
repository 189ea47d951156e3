#!/bin/sh
# Have another program than the one that copied look at a copy: compare.sh
#
# rclone lists both sides by itself. Of all that was in the source when the run began it compares names and sizes, and reads
# so many percent of it, drawn by lot, whole on both sides. It writes nowhere.
# Needs only what rclone's image holds: busybox and rclone, whose settings and keys come through the environment.
# Exit code 1: trouble that may pass, try again. Exit code 2: a verdict, trying again does not help.
set -eu
export LC_ALL=C TZ=UTC RCLONE_CONFIG=/dev/null RCLONE_USE_SERVER_MODTIME=true

say() { printf '%s %s\n' "$(date +%Y-%m-%dT%H:%M:%SZ)" "$*"; }
ends() { # code beginning why: the reason becomes the message of the step
    to=${termination_log:-/dev/termination-log}
    say "$2$3" >&2
    [ ! -w "$to" ] || printf '%.1000s' "$3" >"$to" || :
    exit "$1"
}
trouble() { ends 1 'error: ' "$*"; }
verdict() { ends 2 'FAILED: ' "$*"; }
count() { wc -l <"$1" | tr -d ' '; }

# What rclone sees of the source that was there when the run began: what came since is left to the next one.
settled() { # file
    rclone lsf --recursive --files-only --format tsp --separator ';' "source:$SOURCE_BUCKET" >"$WORK/seen" ||
        trouble "rclone cannot list $SOURCE_BUCKET"
    awk -F ';' -v bar="$bar" '$1 < bar { print substr($0, length($1) + length($2) + 3) }' "$WORK/seen" |
        sort -T "$WORK" >"$1"
}

unknown() { trouble "rclone could not compare all: $(tail -n 2 "$WORK/said" | tr '\n' ' ')"; }

# Each of these must be alike on both sides, unless it was written to or went while it was compared.
alike() { # file of names, words for what differs, option of rclone check...
    names=$1 differs=$2
    shift 2
    code=0
    rclone check --one-way --combined "$WORK/report" "$@" "source:$SOURCE_BUCKET" "target:$TARGET_BUCKET" \
        >"$WORK/said" 2>&1 || code=$?
    # A folder that it cannot list is for rclone a folder that is empty, and it goes on.
    if [ "$code" -gt 1 ] || grep -q '^! ' "$WORK/report" ||
        grep -Eq 'error (reading .* directory|looking up .* object)' "$WORK/said"; then
        unknown
    fi
    sed -n 's/^= //p' "$WORK/report" | sort -T "$WORK" >"$WORK/equal"
    sort -m "$names" "$WORK/equal" "$WORK/equal" | uniq -u >"$WORK/unlike"
    [ -s "$WORK/unlike" ] || return 0
    settled "$WORK/again"
    sort -m "$WORK/unlike" "$WORK/again" | uniq -d >"$WORK/wrong"
    [ -s "$WORK/wrong" ] || return 0
    # What it cannot ask for by name is for rclone not there; what is not there was found by the listing before.
    sed -n 's/^+ //p' "$WORK/report" | sort -T "$WORK" >"$WORK/absent"
    [ "$1" = --size-only ] || [ -z "$(sort -m "$WORK/wrong" "$WORK/absent" | uniq -d | head -n 1)" ] || unknown
    head -n 20 "$WORK/wrong" | sed "s/^/$differs: /" >&2
    verdict "rclone finds $(count "$WORK/wrong") objects in $TARGET_BUCKET that are not as in $SOURCE_BUCKET," \
        "the first is $(head -n 1 "$WORK/wrong")"
}

case $COMPARE_PERCENT in
[1-9] | [1-9][0-9] | 100) ;;
*) verdict "compare-percent is a whole number up to 100, or none, not $COMPARE_PERCENT" ;;
esac
# Of both sides together.
[ ! "$BANDWIDTH" ] || export RCLONE_BWLIMIT="${BANDWIDTH}B"
mkdir -p "$WORK"
bar=$(date -d "@$SINCE" '+%Y-%m-%d %H:%M:%S')
settled "$WORK/names"
[ ! -s "$WORK/names" ] ||
    alike "$WORK/names" 'is missing, or differs in size' --size-only
awk -v percent="$COMPARE_PERCENT" -v seed="$SINCE" 'BEGIN { srand(seed) } rand() * 100 < percent' "$WORK/names" \
    >"$WORK/drawn"
[ ! -s "$WORK/drawn" ] ||
    alike "$WORK/drawn" 'differs in content' --download --no-traverse --files-from-raw "$WORK/drawn"
read -r version <<END
$(rclone version)
END
say "$version finds $(count "$WORK/names") objects alike in name and size, and $(count "$WORK/drawn") that it read whole" \
    "in content"
