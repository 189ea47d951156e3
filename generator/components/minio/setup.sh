#!/bin/sh
# Makes MinIO hold what the cluster file says: buckets with their rules, then users and what each may do.
# It may run at any time and any number of times: every step sets a state. No bucket is ever removed; a key that no
# user of the cluster file has any more is disabled, unless it is the former key of one whose key is being replaced.
#
# $SETTINGS/buckets    one a line: name, days of lock, `on` or `off` for versions, quota in bytes; `-` for none
# $SETTINGS/users      one name a line
# $SETTINGS/lifecycle-<bucket>.json, $SETTINGS/policy-<user>.json
# $SECRETS/root/{rootUser,rootPassword}, $SECRETS/<user>/{accessKey,secretKey}, $SECRETS/ca.crt
# $SECRETS/<user>/formerAccessKey    only while consumers still have it: not disabled
#
# Keys reach the client through its environment and its standard input, never as arguments, and are not printed.
# Only the shell and coreutils are used: the client's image has no more.
set -eu

: "${ENDPOINT:?host and port of the S3 service}"
: "${SETTINGS:=/etc/minio-setup}"
: "${SECRETS:=/run/minio-setup}"
: "${MC_CONFIG_DIR:=/tmp/mc}"
: "${WAIT:=300}"
# The client looks for a home even where it needs none, and does not start without.
: "${HOME:=$MC_CONFIG_DIR}"
export HOME MC_CONFIG_DIR

fail() {
    echo "minio-setup: $*" >&2
    exit 1
}

connect() {
    mkdir -p "$MC_CONFIG_DIR/certs/CAs"
    cat "$SECRETS/ca.crt" >"$MC_CONFIG_DIR/certs/CAs/ca.crt"
    MC_HOST_site="https://$(cat "$SECRETS/root/rootUser"):$(cat "$SECRETS/root/rootPassword")@$ENDPOINT"
    export MC_HOST_site
    # `mc ready` asks for ever: the timeout is the verdict.
    timeout "$WAIT" mc ready site >/dev/null || fail "$ENDPOINT was not ready for writes within $WAIT seconds"
}

open_to_force() { # name of a bucket with versions
    case $(mc retention info --default "site/$1" 2>&1 || :) in
    *"does not support locking"*)
        echo "bucket $1: made without object lock, so who may delete there can destroy all versions: copy it into a new bucket"
        ;;
    esac
}

bucket() { # name, days of lock, versions, quota
    # With object lock, days or none, MinIO refuses to force the deletion of an object with all its versions: no policy can.
    if [ "$3" = on ]; then
        mc mb --ignore-existing --with-lock "site/$1" >/dev/null
        mc version enable "site/$1" >/dev/null
    else
        mc mb --ignore-existing "site/$1" >/dev/null
    fi
    if [ "$2" != - ]; then
        mc retention set --default compliance "${2}d" "site/$1" >/dev/null ||
            fail "bucket $1 exists without object lock, which is only given at creation: copy it into a new bucket"
    elif [ "$3" = on ]; then
        open_to_force "$1"
    fi
    if [ "$4" = - ]; then
        mc quota clear "site/$1" >/dev/null
    else
        mc quota set "site/$1" --size "$4" >/dev/null
    fi
    mc ilm rule import "site/$1" <"$SETTINGS/lifecycle-$1.json" >/dev/null
    echo "bucket $1: lock $2, versions $3, quota $4"
}

user() { # name
    # Only the Secrets of users that the cluster file does not name may be missing: without another one the pod does not start.
    if [ ! -d "$SECRETS/$1" ]; then
        echo "user $1: not made, since its Secret is not there: run \`gen bootstrap\`, then sync minio again"
        return
    fi
    key=$(cat "$SECRETS/$1/accessKey")
    mc admin policy create site "gen-$1" "$SETTINGS/policy-$1.json" >/dev/null
    printf '%s\n%s\n' "$key" "$(cat "$SECRETS/$1/secretKey")" | mc admin user add site >/dev/null
    mc admin policy attach site "gen-$1" --user "$key" >/dev/null
    keys="$keys$key "
    count=$((count + 1))
    echo "user $1: policy gen-$1"
    # Nothing is set of the former key: one that is disabled stays so.
    if [ -f "$SECRETS/$1/formerAccessKey" ]; then
        former="$former$(cat "$SECRETS/$1/formerAccessKey") "
        echo "user $1: its former key is not disabled, until formerAccessKey leaves its Secret"
    fi
}

disable_others() {
    # Not the table for people: it cuts long keys short.
    mc --json admin user list site >"$MC_CONFIG_DIR/users"
    seen=0
    while read -r line <&3; do
        key=${line#*'"accessKey":"'}
        key=${key%%'"'*}
        case "$keys" in
        *" $key "*)
            seen=$((seen + 1))
            continue
            ;;
        esac
        case "$former" in
        *" $key "*) continue ;;
        esac
        case "$line" in
        *'"policyName":"gen-'*'"userStatus":"enabled"'*)
            mc admin user disable site "$key" >/dev/null
            echo "a key that no user has any more: disabled"
            ;;
        esac
    done 3<"$MC_CONFIG_DIR/users"
    [ "$seen" -eq "$count" ] || fail "the list of users shows $seen of $count keys that were just set"
}

connect
while read -r name lock versions quota <&3; do
    bucket "$name" "$lock" "$versions" "$quota"
done 3<"$SETTINGS/buckets"
keys=" "
former=" "
count=0
while read -r name <&3; do
    user "$name"
done 3<"$SETTINGS/users"
disable_others
echo "done"
