#!/bin/sh
# Written by gen. Do not edit; instead: clusters/gpu-serving/cluster.yaml
# What etcd-snapshot.sh tries a snapshot with: it reads this, and nobody runs it. The snapshot is restored beside itself, a
# member is started of it that no network leads to, and what that holds is held against what the live one held then. The
# live one is asked, and nothing else. What came of it is in $out/last-drill, and in what is said of later snapshots.
# shellcheck disable=SC2154  # who reads this sets them
drilled=$out/last-drill
live=
every=${DRILL_DAYS:-7}
# Of the container: of none that the kubelet knows.
member=$name-member
patience=${DRILL_PATIENCE:-300}

said() { # name: what the last drill said of that name
  sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$drilled" 2>/dev/null || true
}

is_due() { # whether the last drill is a week old, failed, or is of a time to come, which a clock dated that was ahead
  [ "$(said result)" = good ] && age=$((taken - $(date -d "$(said worked)" +%s))) || return 0
  # A run of the timer comes some minutes later or earlier than that of a week ago.
  [ "$age" -lt 0 ] || [ "$age" -ge $((every * 86400 - 3600)) ]
}

remember() { # before the API server compacts again, which it does every five minutes
  live=$(asked client endpoint hashkv --rev="$revision" --write-out=json) || live=
}

end_member() {
  ctr --namespace k8s.io tasks rm --force "$member" >/dev/null 2>&1 || true
  ctr --namespace k8s.io containers rm "$member" >/dev/null 2>&1 || true
  # It writes to the folder that goes next.
  wait
}

restored() { # words of etcdctl, to the member of the drill
  tool etcdctl --endpoints=unix:///work/drill/client "$@"
}

ask() { # what the member of the drill holds at that revision
  again=$(asked restored --command-timeout=30s endpoint hashkv --rev="$revision" --write-out=json)
}

follow() { # what the live etcd has thrown away since, of older revisions, this one does not keep either
  then=$(number compact_revision "$live")
  [ "$then" != "$(number compact_revision "$again")" ] || return 0
  restored compact "$then" >/dev/null || return
  ask || untried
}

untried() { # to its end: that says nothing of the snapshot
  fail "the snapshot is kept and was not tried to its end: the member made of it gave no answer"
}

start_member() { # in a network of its own, where nothing is; of this node it gets one CPU, and no more memory than was free
  ctr --namespace k8s.io run --rm --cpus 1 --memory-limit "$memory" --mount "type=bind,src=$work,dst=/work,options=rbind:rw" "$image" "$member" \
    etcd --data-dir /work/drill/data --listen-client-urls unix:///work/drill/client --unsafe-no-fsync \
    --listen-peer-urls unix:///work/drill/peer --advertise-client-urls http://localhost:2379 >"$work/member.log" 2>&1 9>&- &
  runs=$!
  late=$(($(date +%s) + patience))
  until [ -S "$work/drill/client" ] && ask 2>/dev/null; do
    if ! kill -0 "$runs" 2>/dev/null; then
      code=0
      wait "$runs" || code=$?
      [ "$code" != 137 ] || fail "the snapshot is kept and was not tried to its end: a member of it was killed. Is $memory" \
        "bytes of memory too few for it?"
      return 1
    fi
    [ "$(date +%s)" -le "$late" ] || return 1
    sleep 1
  done
}

result() { # good or bad: told in one line, for the group, whole or not at all
  if [ "$1" = good ]; then worked=$(date -u -d "@$taken" +%FT%TZ); else worked=$(said worked); fi
  printf '{"of":"%s","result":"%s","worked":"%s","counted":%d,"lasted":%d}\n' "$stamp" "$1" "$worked" "${counted:-0}" \
    "$(($(date +%s) - began))" >"$drilled.part"
  chgrp "$group" "$drilled.part"
  chmod 0640 "$drilled.part"
  mv "$drilled.part" "$drilled"
}

bad() {
  [ ! -f "$work/member.log" ] || tail -n 5 "$work/member.log" >&2
  result bad
  fail "the snapshot does not bring etcd back: $*. It is kept; the next one is tried again"
}

drill_room() { # for a second database beside the snapshot and as much again for etcd itself, and for a second member
  free=$(df --output=avail -B1 "$store" | tail -n 1)
  [ "$free" -gt $((2 * $(stat -c %s "$work/new.db") + 268435456)) ] ||
    fail "the snapshot is kept and was not tried: $store has $free bytes left, too few for a second database"
  # The database as it is mapped, and what etcd takes beside; what is short of memory would end the live one.
  memory=$(($(stat -c %s "$work/new.db") + 536870912))
  free=$(free --bytes | sed -n 's/^Mem:.* //p')
  # Some is left: pods are evicted before memory ends, and the live one grows.
  [ "$free" -gt $((memory + 268435456)) ] ||
    fail "the snapshot is kept and was not tried: $free bytes of memory are free, and a member of it needs up to $memory," \
      "beside 256 MiB that stay free"
}

drill() {
  began=$(date +%s)
  [ -n "$live" ] || fail "the snapshot is kept and was not tried: etcd at $endpoint does not tell what it held then"
  drill_room
  mkdir "$work/drill"
  tool etcdutl snapshot restore /work/new.db --data-dir /work/drill/data >/dev/null 2>"$work/member.log" ||
    bad "etcdutl does not restore it"
  start_member || bad "a member that is made of it does not answer"
  follow || bad "a member that is made of it cannot be compacted as the live etcd was"
  if [ -z "$(number hash "$live")" ] || [ "$(number hash "$live")" != "$(number hash "$again")" ]; then
    bad "at revision $revision it does not hold what the live etcd held"
  fi
  held=$(asked restored get '' --prefix --count-only --write-out=fields) || untried
  counted=$(echo "$held" | sed -n 's/^"Count" : //p')
  [ "${counted:-0}" -gt 0 ] || bad "it holds no keys"
  result good
  echo "tried: a member made of it holds $counted keys, all as the live etcd held them, within $(($(date +%s) - began)) s"
  end_member
}
