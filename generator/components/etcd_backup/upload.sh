#!/bin/bash
# Bring the newest snapshot of etcd that this node holds to the bucket, and prove it: upload.sh
#
# Snapshots are encrypted already, each with a file about it (`etcd-snapshot.sh` on the control-plane nodes). The key in
# the bucket is always the same: its former versions are the older snapshots, which the bucket keeps for its days.
# Needs only what the client image holds: bash, coreutils and mc (no awk, grep, sed or jq).
# Exit code 1: trouble that may pass, or not be there on another node. Exit code 2: a verdict.
set -euo pipefail
export LC_ALL=C TZ=UTC MC_QUIET=1 MC_DISABLE_PAGER=1 MC_NO_COLOR=1
# shellcheck source=/dev/null
. "${BASH_SOURCE[0]%/*}/client.sh"

key="target/$TARGET_BUCKET/$NAME/snapshot.db.age"
records="target/$TARGET_BUCKET/_gen/backups/$NAME"

newest() { # sets stamp, and text: what is said of the newest snapshot
  local file files=("$SNAPSHOTS"/*.json)
  file=${files[-1]}
  [[ -f $file ]] || trouble "node $NODE has no snapshot: \`systemctl status etcd-snapshot\` there"
  stamp=${file##*/} stamp=${stamp%.json}
  text=$(<"$file")
}

field() { # name: its value in `text`
  [[ $text =~ \"$1\":\"?([^\",}]+) ]] || trouble "$SNAPSHOTS/$stamp.json of node $NODE says no $1"
  printf '%s' "${BASH_REMATCH[1]}"
}

digest() { sha256sum | cut -c 1-64; }

fresh() {
  local taken
  taken=$(date -d "$(field taken)" +%s) || trouble "$SNAPSHOTS/$stamp.json of node $NODE has no time"
  ((SINCE - taken <= MAX_AGE)) ||
    trouble "the newest snapshot of node $NODE is of $(field taken): \`systemctl status etcd-snapshot\` there"
}

whole() {
  [[ $(digest <"$SNAPSHOTS/$stamp.db.age") == "$sum" ]] || trouble "snapshot $stamp of node $NODE is not as it was taken"
}

# What is there may be newer, from another node: an older one over it would be taken for the newest.
overtaken() {
  local there
  there=$(mc --json stat "$key" 2>/dev/null) || return 1
  [[ $there =~ \"[Xx]-[Aa]mz-[Mm]eta-[Tt]aken\":\"([0-9TZ]+)\" && ${BASH_REMATCH[1]} > $stamp ]]
}

upload() {
  timeout "$READY_SECONDS" mc ready target || trouble "the target is not ready to write after $READY_SECONDS s"
  if overtaken; then say "a newer snapshot than $stamp of node $NODE is there"; exit 0; fi
  mc cp --attr "taken=$stamp" "$SNAPSHOTS/$stamp.db.age" "$key" >/dev/null || trouble "the copy is not whole"
  [[ $(mc cat "$key" | digest) == "$sum" ]] || verdict "what $key gives back is not what was brought there"
  say "brought $stamp of node $NODE to $key"
}

record() {
  local name="$records/$stamp.json"
  printf '%s\n' "$text" | mc pipe "$name" >/dev/null || trouble "cannot write the record"
  [[ $(mc cat "$name") == "$text" ]] || trouble "the record does not read back"
  say "wrote $name: $text"
}

configure target "$TARGET_URL" "$TARGET_ACCESS_KEY" "$TARGET_SECRET_KEY"
newest
sum=$(field sha256)
fresh
whole
upload
record
