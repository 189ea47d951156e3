#!/bin/sh
# Written by gen. Do not edit; instead: clusters/gpu-serving/cluster.yaml
# Take a snapshot of this node's etcd, prove it, encrypt it: etcd-snapshot.sh, as root, by etcd-snapshot.timer. Programs
# are those of the very image that etcd runs from. What may leave this node lies in /var/lib/etcd-snapshots/out:
#   TIME.db.age  the snapshot, for the recipients of the cluster file; whoever reads it in plain has every Secret
#   TIME.keys.age  the certificates and keys of that time, for the same recipients: without them nothing reads the snapshot
#   TIME.json    what is known of it, written last: without it the others are not whole
#   last-drill   what came of it when one was tried last: once a week the newest is restored, see etcd-drill.sh
# Safe to kill and to run again. Before a snapshot is taken, what a killed run left goes, and so do snapshots that are too
# many, too old, or in the way of a new one; the newest two that are whole stay whatever happens.
set -eu
export LC_ALL=C TZ=UTC

# shellcheck source=SCRIPTDIR/../../../../etcd/usr/local/sbin/etcd-client.sh
. "$(dirname "$0")/etcd-client.sh"
store=$root/var/lib/etcd-snapshots
out=$store/out
work=$store/work
recipients=$root/etc/etcd-snapshot/recipients
keep=${KEEP:-8}
days=${KEEP_DAYS:-14}
least=2
# The group of the pods that upload: they read `out`, and nothing else here.
group=8737
# shellcheck source=SCRIPTDIR/etcd-drill.sh
. "$(dirname "$0")/etcd-drill.sh"

begin() {
  load
  [ -s "$recipients" ] || fail "$recipients names nobody who could decrypt: run prepare.sh again"
  command -v age >/dev/null || fail "age is not installed: install the package \`age\`"
  mkdir -p "$out"
  chgrp "$group" "$out"
  chmod 0750 "$out"
  alone "$store/lock"
  end_member
  rm -rf "$work"
  trap 'end_member; rm -rf "$work" "$out"/*.part' EXIT
  trap 'exit 143' TERM INT HUP
  (umask 077 && mkdir "$work")
}

whole() { # file about a snapshot: whether the snapshot is there in its length
  [ -s "${1%.json}.db.age" ] && [ "$(stat -c %s "${1%.json}.db.age")" = "$(number bytes "$(cat "$1")")" ]
}

sweep() { # what runs left that were killed, and what is not whole
  for file in "$out"/*.part "$out"/*.json; do
    case $file in
    *.json) if [ -e "$file" ] && ! whole "$file"; then rm -f "$file"; fi ;;
    *) rm -f "$file" ;;
    esac
  done
  for file in "$out"/*.age; do
    stem=${file%.age}
    [ -e "${stem%.*}.json" ] || rm -f "$file"
  done
}

count() { find "$out" -name '*.json' | wc -l; }

drop_oldest() {
  old=$(find "$out" -name '*.json' | sort | head -n 1)
  rm -f "$old" "${old%.json}.db.age" "${old%.json}.keys.age"
}

too_old() { # whether the oldest is
  oldest=$(find "$out" -name '*.json' -printf '%f\n' | sort | head -n 1 | tr -dc 0-9)
  [ "$oldest" -lt "$(date -u -d "-$days days" +%Y%m%d%H%M%S)" ]
}

prune() {
  sweep
  while [ "$(count)" -gt "$keep" ]; do drop_oldest; done
  while [ "$(count)" -gt "$least" ] && too_old; do drop_oldest; done
}

is_short() { # a full disk stops etcd itself: the snapshot and its encrypted form, and as much again
  free=$(df --output=avail -B1 "$store" | tail -n 1)
  [ "$free" -le $((3 * size)) ]
}

room() {
  size=$(stat -c %s "$root$(argument data-dir)/member/snap/db")
  while is_short && [ "$(count)" -gt "$least" ]; do drop_oldest; done
  if is_short; then
    fail "$store has $free bytes left, and the database has $size: three times that must be free. The newest" \
      "$(count) snapshots stay: make room beside them"
  fi
}

prove() { # the file ends with the sha256 of what is before; `status` looks through the database
  saved=$(tail -c 32 "$work/new.db" | od -An -v -tx1 | tr -d ' \n')
  [ "$(head -c -32 "$work/new.db" | sha256sum | cut -c 1-64)" = "$saved" ] ||
    fail "the snapshot is damaged: its checksum is not that of its content"
  status=$(asked tool etcdutl snapshot status /work/new.db --write-out=json) || fail "etcdutl does not take the snapshot"
  keys=$(number totalKey "$status")
  revision=$(number revision "$status")
  [ "${keys:-0}" -gt 0 ] || fail "the snapshot holds nothing: $status"
}

record() { # of the encrypted snapshot
  printf '{"backup":"etcd","node":"%s","taken":"%s","revision":%d,"keys":%d,"bytes":%d,"image":"%s","sha256":"%s",' \
    "$(hostname -s)" "$(date -u -d "@$taken" +%FT%TZ)" "$revision" "$keys" "$(stat -c %s "$out/$stamp.db.age")" \
    "$image" "$(sha256sum "$out/$stamp.db.age" | cut -c 1-64)"
  printf '"drill":%s}\n' "$(cat "$drilled" 2>/dev/null || echo null)"
}

seal() { # file in plain, name among the others: encrypted there, for the group
  age --recipients-file "$recipients" --output "$out/$2.part" "$1" || fail "age did not encrypt $2"
  sync "$out/$2.part"
  chgrp "$group" "$out/$2.part"
  chmod 0640 "$out/$2.part"
  mv "$out/$2.part" "$out/$2"
}

certificates() { # those of the API server and of etcd, and where Secrets are encrypted at rest, its keys
  pki=pki
  [ ! -d "$root/etc/kubernetes/enc" ] || pki="pki enc"
  # shellcheck disable=SC2086  # one word, or two
  tar --create --directory "$root/etc/kubernetes" --file "$work/keys.tar" $pki || fail "cannot read the keys of this node"
}

put() { # the new snapshot beside the others
  certificates
  seal "$work/keys.tar" "$stamp.keys.age"
  seal "$work/new.db" "$stamp.db.age"
  record >"$out/$stamp.json.part"
  chgrp "$group" "$out/$stamp.json.part"
  chmod 0640 "$out/$stamp.json.part"
  mv "$out/$stamp.json.part" "$out/$stamp.json"
  sync "$out"
}

moment() { # the time of the new snapshot, which is its name: two within a second would be one
  while
    taken=$(date +%s)
    stamp=$(date -u -d "@$taken" +%Y%m%dT%H%M%SZ)
    [ -e "$out/$stamp.json" ]
  do sleep 1; done
}

begin
prune
room
client --command-timeout=30s endpoint health >/dev/null || fail "etcd at $endpoint is not healthy: see \`crictl logs\` of its container"
moment
last=$(find "$out" -name '*.json' | sort | tail -n 1)
client snapshot save /work/new.db >/dev/null || fail "etcd at $endpoint gave no snapshot"
prove
if is_due; then remember; fi
put
before=$(if [ -n "$last" ]; then number revision "$(cat "$last")"; fi)
if [ "$revision" -lt "${before:-0}" ]; then
  fail "etcd went back in time: revision $revision, and $before in $last. The new snapshot is kept; who wants an older" \
    "one copies it from $out now: $keep are kept"
fi
prune
echo "took $out/$stamp.db.age: revision $revision, $keys keys"
if is_due; then drill; fi
