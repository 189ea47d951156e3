#!/bin/sh
# Written by gen. Do not edit; instead: clusters/gpu-serving/cluster.yaml
# What scripts about this control-plane node's etcd share. Programs are those of the very image that etcd runs from; of the
# node they see the keys of etcd, and the folder `work`, where it is set, as /work.

# Of the script that reads this file, and of its container.
name=$(basename "$0" .sh)
# Elsewhere in tests only.
root=${GEN_ROOT:-}
manifest=$root/etc/kubernetes/manifests/etcd.yaml
work=

fail() {
  echo "$name.sh: $*" >&2
  exit 1
}

argument() { # name: what etcd is started with
  sed -n "s/^ *- --$1=//p" "$manifest"
}

tool() { # etcdctl or etcdutl, and its words
  ctr --namespace k8s.io run --rm --net-host \
    --mount "type=bind,src=$root/etc/kubernetes/pki/etcd,dst=/pki,options=rbind:ro" \
    ${work:+--mount "type=bind,src=$work,dst=/work,options=rbind:rw"} "$image" "$name" "$@"
}

client() { # words of etcdctl, to this node's member alone
  tool etcdctl --endpoints="$endpoint" --cacert=/pki/ca.crt --cert=/pki/healthcheck-client.crt \
    --key=/pki/healthcheck-client.key "$@"
}

asked() { # a command that asks one of them, and its words: again where nothing came
  # On a busy node the task may be over before ctr reads what it said, and containerd lets that go.
  heard='' asked=0
  while [ -z "$heard" ] && [ "$asked" -lt 3 ]; do
    heard=$("$@") || return
    asked=$((asked + 1))
  done
  [ -n "$heard" ] || fail "\`$*\` said nothing, three times: see the log of containerd"
  echo "$heard"
}

number() { # name, JSON: the number of that name
  echo "$2" | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"
}

load() { # what the manifest says of etcd, where this is a control-plane node
  [ "$(id -u)" = 0 ] || fail "must run as root"
  [ -f "$manifest" ] || fail "$manifest is not there: this is no control-plane node, or its etcd is stopped"
  image=$(sed -n 's/^ *image: //p' "$manifest")
  endpoint=$(argument listen-client-urls | cut -d , -f 1)
}

alone() { # file: only one run at a time; what a run left that was killed goes
  exec 9>"$1"
  flock -n 9 || fail "another run is under way"
  ctr --namespace k8s.io tasks rm --force "$name" >/dev/null 2>&1 || true
  ctr --namespace k8s.io containers rm "$name" >/dev/null 2>&1 || true
}
