#!/bin/sh
# Written by gen. Do not edit; instead: clusters/gpu-serving/cluster.yaml
# Put a snapshot into the place of this control-plane node's etcd, as root:
#   restore.sh stop            end etcd and the API server of this node
#   restore.sh restore FILE    make etcd's data of a decrypted snapshot; the former data stays beside it
#   restore.sh start-etcd      start etcd again
#   restore.sh start           start the rest of the control plane, once etcd has its majority
#   restore.sh undo            put the data back that the last restore replaced, after `stop`; twice is as once
# On every control-plane node, with the same snapshot; README.md beside this file says in which order. Each may be killed
# and run again. Programs are those of the very image that etcd runs from.
set -eu
export LC_ALL=C TZ=UTC

here=$(cd "$(dirname "$0")" && pwd)
# Elsewhere in tests only.
root=${GEN_ROOT:-}
active=$root/etc/kubernetes/manifests
stopped=$root/etc/kubernetes/manifests-stopped
parts="kube-apiserver kube-controller-manager kube-scheduler etcd"
patience=${PATIENCE:-120}
name=etcd-restore

fail() {
  echo "restore.sh: $*" >&2
  exit 1
}

argument() { # name: what etcd is started with
  sed -n "s/^ *- --$1=//p" "$manifest"
}

tool() { # folder of the snapshot, then etcdctl or etcdutl and its words
  snapshots=$1
  shift
  ctr --namespace k8s.io tasks rm --force "$name" >/dev/null 2>&1 || true
  ctr --namespace k8s.io containers rm "$name" >/dev/null 2>&1 || true
  ctr --namespace k8s.io run --rm --net-host \
    --mount "type=bind,src=$root/etc/kubernetes/pki/etcd,dst=/pki,options=rbind:ro" \
    --mount "type=bind,src=$snapshots,dst=/snapshot,options=rbind:ro" \
    --mount "type=bind,src=$data,dst=/data,options=rbind:rw" "$image" "$name" "$@"
}

load() { # what the manifest of etcd says, wherever it is
  [ "$(id -u)" = 0 ] || fail "must run as root"
  manifest=$active/etcd.yaml
  [ -f "$manifest" ] || manifest=$stopped/etcd.yaml
  [ -f "$manifest" ] || fail "no etcd.yaml in $active or $stopped: this is no control-plane node"
  image=$(sed -n 's/^ *image: //p' "$manifest")
  data=$root$(argument data-dir)
  me=$(argument name)
}

runs() { # container: whether it does; what the kubelet ended may still be listed
  found=$(ctr --namespace k8s.io containers ls --quiet "labels.\"io.kubernetes.container.name\"==$1") ||
    fail "containerd does not answer: \`systemctl start containerd\`"
  for id in $found; do
    if ctr --namespace k8s.io tasks ls | grep -q "^$id .*RUNNING"; then return 0; fi
  done
  return 1
}

in_use() { # whether an etcd has its database open, in a container or not
  [ -f "$data/member/snap/db" ] && ! flock --nonblock "$data/member/snap/db" true
}

is_up() { in_use || runs etcd || runs kube-apiserver; }

wait_until() { # what is awaited, then a command that tells
  awaited=$1
  shift
  for _ in $(seq "$patience"); do
    if "$@"; then return; fi
    sleep 1
  done
  fail "$awaited has not happened within $patience s: is the kubelet running? Then run this again"
}

is_down() { ! is_up; }

stop() {
  mkdir -p "$stopped"
  for part in $parts; do
    if [ -f "$active/$part.yaml" ]; then mv "$active/$part.yaml" "$stopped/$part.yaml"; fi
  done
  wait_until "the end of etcd and kube-apiserver" is_down
  echo "$me: stopped; manifests are in $stopped. Next: the same on the other control-plane nodes"
}

must_be_stopped() {
  for part in $parts; do
    if [ -f "$active/$part.yaml" ]; then
      fail "$active/$part.yaml is there, and the kubelet runs it: \`$0 stop\` first, on every control-plane node"
    fi
  done
  if is_up; then fail "etcd or kube-apiserver still runs on this node: \`$0 stop\` waits for its end"; fi
}

must_be_of_here() { # the manifest and the list of members mean the same node
  listed=$(awk -v node="$me" '$1 == node { print $2 }' "$here/members")
  [ -n "$listed" ] || fail "etcd is called $me here, and $here/members has no such node: is this the right cluster?"
  [ "$(argument initial-advertise-peer-urls)" = "https://$listed:2380" ] ||
    fail "etcd is at $(argument initial-advertise-peer-urls) here, and $here/members says $listed"
}

room() { # snapshot: for the data, and the log of 64 MB beside it
  size=$(stat -c %s "$1")
  free=$(df --output=avail -B1 "$data" | tail -n 1)
  [ "$free" -gt $((2 * size + 268435456)) ] || fail "$data has $free bytes left, too few for a snapshot of $size"
}

make() { # snapshot: new data in $new, whole or not at all
  room "$1"
  rm -rf "$data/restoring"
  folder=$(cd "$(dirname "$1")" && pwd)
  file=/snapshot/$(basename "$1")
  tool "$folder" etcdutl snapshot status "$file" --write-out=json || fail "etcdutl does not take $1"
  # The token is of the snapshot: nodes that were given different ones never form one cluster. Revisions rise by so much
  # that no watch sees one of before go backwards (etcd 3.6, "Disaster recovery").
  tool "$folder" etcdutl snapshot restore "$file" --data-dir /data/restoring --name "$me" \
    --initial-cluster "$(awk '!/^#/ && NF { printf "%s%s=https://%s:2380", sep, $1, $2; sep = "," }' "$here/members")" \
    --initial-cluster-token "restore-$sum" --initial-advertise-peer-urls "https://$listed:2380" \
    --bump-revision 1000000000 --mark-compacted || fail "etcdutl did not restore $1; nothing was changed"
  sync --file-system "$data"
  mv "$data/restoring" "$new"
}

note() { # name, words: a file beside the data, whole or not at all
  echo "$2" >"$data/$1.new"
  mv "$data/$1.new" "$data/$1"
}

aside() { # what is there goes aside, and `former` says which restore put it where
  if [ -d "$data/member" ]; then
    before=member-before-$(date +%Y%m%dT%H%M%S)
    note former "$sum $before"
    mv "$data/member" "$data/$before"
  elif ! read_former || [ "$of" != "$sum" ] || [ ! -d "$data/$before" ]; then
    # Not a run that was killed after its `mv`: this node had no data.
    note former "$sum none"
  fi
}

read_former() { # sets of, the snapshot, and before, the folder that it replaced
  [ -f "$data/former" ] && read -r of before <"$data/former"
}

place() { # the new data; the former stays
  if [ -d "$new/member" ]; then
    aside
    mv "$new/member" "$data/member"
  fi
  note in-place "$sum"
  rmdir "$new"
}

restore() {
  file=${1:?usage: restore.sh restore FILE}
  case $file in
  *.age) fail "$file is encrypted: decrypt it where the key is (\`age --decrypt --identity KEY --output F.db $file\`)" ;;
  esac
  [ -s "$file" ] || fail "$file is not there, or empty"
  must_be_stopped
  must_be_of_here
  (umask 077 && mkdir -p "$data")
  chmod 0700 "$data"
  sum=$(sha256sum "$file" | cut -c 1-16)
  new=$data/restored-$sum
  if [ ! -d "$new" ] && [ "$(cat "$data/in-place" 2>/dev/null)" = "$sum" ]; then
    echo "$me: snapshot $sum is in place already. To do it once more: rm $data/in-place"
    return
  fi
  if [ ! -d "$new" ]; then make "$file"; fi
  place
  echo "$me: snapshot $sum is in place. Every node must say $sum; then, on each: $0 start-etcd"
}

start_etcd() {
  [ -d "$data/member" ] || fail "$data/member is not there: etcd would begin an empty cluster. \`$0 restore FILE\` first"
  if [ -f "$stopped/etcd.yaml" ]; then
    rm -f "$data/in-place"
    mv "$stopped/etcd.yaml" "$active/etcd.yaml"
  fi
  wait_until "the start of etcd" in_use
  echo "$me: etcd runs. Next: the same on the other control-plane nodes, then \`$0 start\`"
}

start() {
  [ -f "$active/etcd.yaml" ] || fail "etcd is not started here: \`$0 start-etcd\` first, on every control-plane node"
  tool "$here" etcdctl --endpoints="$(argument listen-client-urls | cut -d , -f 1)" --cacert=/pki/ca.crt \
    --cert=/pki/healthcheck-client.crt --key=/pki/healthcheck-client.key endpoint health ||
    fail "etcd is not healthy: it waits for a majority; \`$0 start-etcd\` on the other nodes"
  for part in $parts; do
    if [ -f "$stopped/$part.yaml" ]; then mv "$stopped/$part.yaml" "$active/$part.yaml"; fi
  done
  echo "$me: the control plane starts"
}

undo() { # who does it twice has the same: the folder that was put aside is gone once it is back
  must_be_stopped
  read_former || fail "no former data in $data: nothing was put in its place"
  [ "$before" != none ] || fail "no former data in $data: this node had none when snapshot $of was put in place"
  if [ -d "$data/$before" ]; then
    if [ -d "$data/member" ]; then mv "$data/member" "$data/member-undone-$(date +%Y%m%dT%H%M%S)"; fi
    mv "$data/$before" "$data/member"
  fi
  [ -d "$data/member" ] || fail "neither $data/member nor $data/$before is there: somebody moved them"
  rm -f "$data/in-place"
  echo "$me: the data from before snapshot $of is in place. The same on every control-plane node, then \`$0 start-etcd\`"
}

load
case ${1-} in
stop | start | undo) "$1" ;;
restore) restore "${2-}" ;;
start-etcd) start_etcd ;;
*) fail "usage: restore.sh stop | restore FILE | start-etcd | start | undo" ;;
esac
