#!/bin/sh
# Written by gen. Do not edit; instead: clusters/gpu-serving/cluster.yaml
# Give back the room that this node's etcd holds and does not use: `etcd-defragment.sh [now]`, as root, by
# etcd-defragment.timer on every control-plane node, or by hand. A member answers nobody while it does so: seconds for each
# GiB. So it is done only where it is worth it, in the hours HOURS (UTC) or `now`, and by one member after the other. No
# word passes between nodes for that: all read the same list, followers by their IDs and the leader last, and the first of
# them that needs it is the one whose turn it is. After it, it needs it no more. A member that does not answer, or lags
# behind, stops all. Where etcd takes no more writes because its database is full (the alarm NOSPACE), every hour is one:
# old revisions go first, and the alarm ends when all members have room again. By the timer a member does it at most once
# in GAP seconds: what fills again at once is not mended so, and each time it answers nobody.
# Safe to kill and to run again.
set -eu
export LC_ALL=C TZ=UTC

# shellcheck source=SCRIPTDIR/etcd-client.sh
. "$(dirname "$0")/etcd-client.sh"
hours=${HOURS:-01 02 03}
least=${LEAST:-209715200} # bytes: less is not worth it
gap=${GAP:-72000}
patience=${PATIENCE:-60}
wait=${WAIT:-20s}

begin() {
  load
  mkdir -p "$root/var/lib/etcd-defragment"
  alone "$root/var/lib/etcd-defragment/lock"
  last=$root/var/lib/etcd-defragment/last
  trap 'exit 143' TERM INT HUP
  quota=$(argument quota-backend-bytes)
  [ "${quota:-0}" -gt 0 ] || quota=2147483648 # etcd's own
}

read_alarms() { # sets alarm: NOSPACE or nothing
  alarms=$(client --command-timeout="$wait" alarm list) || fail "etcd at $endpoint does not answer: see its pod's log"
  case $alarms in
  *CORRUPT*) fail "etcd has the alarm CORRUPT: $alarms. Members differ; a person looks which one is right first" ;;
  *NOSPACE*) alarm=NOSPACE ;;
  *) alarm= ;;
  esac
}

read_members() { # sets names: a line for each member, of ID and name; members: of ID, bytes, bytes in use, applied index,
  # and the leader's ID; me: this member's ID; revision
  told=$(asked client --command-timeout="$wait" member list --write-out=json) || fail "etcd at $endpoint does not list its members"
  me=$(number member_id "${told%%\"members\"*}")
  each=$(echo "${told#*\"members\"}" | sed 's/{"ID"/\n&/g' | grep '"ID"')
  names=$(echo "$each" | grep -v '"isLearner":true' | sed -n 's/.*"ID":\([0-9]*\),"name":"\([^"]*\)".*/\1 \2/p')
  [ "$(echo "$names" | wc -l)" = "$(echo "$each" | wc -l)" ] ||
    fail "a member is not started, or still learns: \`etcdctl member list\`"
  told=$(asked client --command-timeout="$wait" endpoint status --cluster --write-out=json) ||
    fail "a member of etcd does not answer, and another one must not be away with it: \`etcdctl endpoint status --cluster\`"
  each=$(echo "$told" | sed 's/{"Endpoint"/\n&/g')
  n='\([0-9]*\)'
  members=$(echo "$each" | sed -n "s/.*\"member_id\":$n.*\"dbSize\":$n.*\"leader\":$n.*\"raftAppliedIndex\":$n.*\
\"dbSizeInUse\":$n.*/\1 \2 \5 \4 \3/p")
  [ "$(echo "$members" | wc -l)" = "$(echo "$names" | wc -l)" ] || fail "not every member tells of itself: $told"
  revision=$(number revision "$(echo "$each" | grep "\"member_id\":$me,")")
  agreed
}

named() { # ID: its name
  echo "$names" | sed -n "s/^$1 //p"
}

agreed() { # whether all members follow one leader and are up to date; sets leader
  leader=$(echo "$members" | awk '{ print $5 }' | sort -u)
  case $leader in
  0 | *[!0-9]*) fail "members of etcd do not agree who leads: $(echo "$leader" | tr '\n' ' ')" ;;
  esac
  late=$(echo "$members" | awk '{ id[NR] = $1; at[NR] = $4; if ($4 + 0 > most) most = $4 + 0 }
    END { for (one in id) if (most - at[one] > 1000) print id[one] }' | head -n 1)
  [ -z "$late" ] || fail "$(named "$late") is behind the others: it must catch up first"
}

needing() { # the members for whom it is worth it, in order
  echo "$members" | awk -v least="$least" -v quota="$quota" -v leader="$leader" '{
    free = $2 - $3
    if (free > least && free * 2 > $2 || $2 * 10 > quota * 6 && free * 10 > $2) print ($1 "" == leader ""), length($1), $1
  }' | sort -k 1,1n -k 2,2n -k 3,3 | awk '{ print $3 }'
}

size() { # of this member's database, in bytes
  told=$(asked client --command-timeout="$wait" endpoint status --write-out=json) || return
  number dbSize "$told"
}

compact() { # forget all revisions but the newest; the API server cannot, for it would have to write
  said=$(client --command-timeout=10m compact --physical "$revision" 2>&1) || case $said in
  *"has been compacted"*) ;;
  *) fail "etcd does not forget old revisions: $said" ;;
  esac
  read_members
}

room() { # the new file is written beside the old one; a full disk stops etcd itself
  database=$root$(argument data-dir)/member/snap
  before=$(size)
  free=$(df --output=avail -B1 "$database" | tail -n 1)
  [ "$free" -gt $((before + before / 2)) ] ||
    fail "$database has $free bytes left, and the database has $before: half as much again must be free for a new one"
}

defragment() {
  room
  client --command-timeout=10m defrag >/dev/null || fail "etcd at $endpoint was not defragmented: see its pod's log"
  after=$(size)
  [ "$after" -lt "$before" ] || fail "etcd at $endpoint has $after bytes, and had $before: nothing was gained"
  touch "$last"
  echo "$name.sh: $(named "$me"): $before bytes before, $after now"
  left=$patience
  until (read_members) 2>/dev/null; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || fail "not all members of etcd are well after it: $( (read_members) 2>&1 || true)"
    sleep 1
  done
  read_members
}

lately() { # sets ago: how many seconds ago this member did it, where that is less than the gap
  [ -f "$last" ] || return 1
  ago=$(($(date +%s) - $(date -r "$last" +%s)))
  [ "$ago" -ge 0 ] && [ "$ago" -lt "$gap" ]
}

end_alarm() { # once all members have room: sooner it would come again at once
  full=$(echo "$members" | awk -v quota="$quota" '$2 * 10 > quota * 8 { print $1 }' | head -n 1)
  [ -z "$full" ] || fail "etcd takes no writes, and its database is full of what is in use ($(named "$full"); the quota" \
    "is $quota): find who wrote so much, and delete that; deletions are taken still"
  client --command-timeout="$wait" alarm disarm >/dev/null || fail "the alarm NOSPACE does not end"
  echo "$name.sh: etcd takes writes again"
}

begin
read_alarms
if [ "${1:-}" != now ] && [ -z "$alarm" ]; then
  case " $hours " in *" $(date -u +%H) "*) ;; *) exit 0 ;; esac
fi
read_members
[ -z "$alarm" ] || compact
first=$(needing | head -n 1)
if [ "$first" = "$me" ]; then
  if [ "${1:-}" != now ] && [ -z "$alarm" ] && lately; then
    echo "$name.sh: $(named "$me") gave room back $((ago / 60)) minutes ago, and holds much again that it does not use: find who" \
      "writes and deletes so much. \`$name.sh now\` does it all the same"
    exit 0
  fi
  defragment
  first=$(needing | head -n 1)
fi
if [ -n "$first" ]; then
  echo "$name.sh: $(named "$first") comes first, then others; this is $(named "$me")"
elif [ -n "$alarm" ]; then
  end_alarm
else
  echo "$name.sh: nothing to be gained from any member"
fi
