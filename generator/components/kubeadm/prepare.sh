#!/bin/sh
# Prepare this node for kubeadm: ./prepare.sh POOL, as root, from the folder `node`. Safe to run again.
set -eu

pool=${1:?usage: ./prepare.sh POOL}
here=$(cd "$(dirname "$0")" && pwd)
# Elsewhere in tests only.
root=${GEN_ROOT:-}
[ "$(id -u)" = 0 ] || { echo "prepare.sh: must run as root" >&2; exit 1; }
[ -d "$here/all" ] || { echo "prepare.sh: $here/all is missing: copy the whole folder \`node\` to this node" >&2; exit 1; }

echo "1. files for every node, then those of pool $pool"
# Of a checkout that its owner alone reads, too: services read some as users of their own. Nothing here is secret.
umask 022
find "$here/all" "$here/pools" ! -perm -0044 -exec chmod go+rX {} + 2>/dev/null || true
cp -R --remove-destination "$here/all/." "$root/" # of a former run: what is copied over another file keeps its mode
# A pool with nothing of its own has no folder, nor has one that is mistyped.
if [ -d "$here/pools/$pool" ]; then
  cp -R --remove-destination "$here/pools/$pool/." "$root/"
else
  others=$(find "$here/pools" -mindepth 1 -maxdepth 1 -printf '%f\n' 2>/dev/null | sort | tr '\n' ' ')
  echo "   pool $pool has no files of its own; here these have: ${others:-none}"
fi
mkdir -p "$root/etc/kubernetes/patches" "$root/etc/containerd/conf.d" "$root/etc/containerd/certs.d"

if [ -f "$root/etc/kubernetes/site-ca.crt" ]; then
  echo "   trust the site's CA"
  if command -v update-ca-certificates >/dev/null 2>&1; then
    cp "$root/etc/kubernetes/site-ca.crt" "$root/usr/local/share/ca-certificates/gen-site-ca.crt"
    update-ca-certificates >/dev/null
  else
    cp "$root/etc/kubernetes/site-ca.crt" "$root/etc/pki/ca-trust/source/anchors/gen-site-ca.crt"
    update-ca-trust
  fi
fi

echo "2. kernel modules and settings"
for list in kubernetes infiniband ceph; do
  list=$root/etc/modules-load.d/$list.conf
  [ -f "$list" ] || continue
  while read -r module; do
    case $module in '' | '#'*) continue ;; esac
    modprobe "$module" || { echo "prepare.sh: kernel module $module cannot be loaded" >&2; exit 1; }
  done <"$list"
done
sysctl --quiet --system

echo "3. swap off, now and at the next start"
swapoff -a
# As it was before the first run.
[ -e "$root/etc/fstab.before-gen" ] || cp -p "$root/etc/fstab" "$root/etc/fstab.before-gen"
sed -i -E '/^[^#].*[[:space:]]swap[[:space:]]/s/^/# gen: /' "$root/etc/fstab"

if [ -f "$root/etc/modules-load.d/infiniband.conf" ] && command -v rdma >/dev/null 2>&1; then
  echo "4. HCAs shared between network namespaces (the device plugin needs it)"
  rdma system show | grep -q 'netns shared' || rdma system set netns shared
fi

echo "5. services"
# The format of the file and its drop-ins depends on containerd's version: what it makes of them must be what is meant.
dump=$(containerd config dump | tr -d "'\"" | sed 's/^[[:space:]]*//')
sandbox=$(tr -d "'\"" <"$root/etc/containerd/config.toml" | sed -n 's/^[[:space:]]*sandbox_image = //p')
runc=$(echo "$dump" | awk '/^\[/ { inside = /runtimes\.runc\.options\]$/ } inside')
taken() { # text, then each line by which it may say what is meant
  text=$1 && shift
  for line; do
    if echo "$text" | grep -Fqx "$line"; then return; fi
  done
  echo "prepare.sh: containerd does not take over \`$line\` from /etc/containerd/config.toml: look for a drop-in of" \
    "another format in /etc/containerd/conf.d, or a version other than 1.7, 2.2 or newer. It was not restarted." >&2
  exit 1
}
taken "$dump" "sandbox = $sandbox" "sandbox_image = $sandbox"
taken "$dump" 'config_path = /etc/containerd/certs.d'
taken "$runc" 'SystemdCgroup = true'
systemctl daemon-reload
systemctl enable --now containerd
systemctl restart containerd
systemctl enable kubelet

if [ -f "$root/etc/chrony/sources.d/site.sources" ]; then
  echo "6. clock"
  for file in "$root/etc/chrony.conf" "$root/etc/chrony/chrony.conf"; do
    [ -f "$file" ] || continue
    # Debian's file names the folder already, that of the RHEL family does not.
    grep -Eq '^[[:space:]]*sourcedir[[:space:]]+/etc/chrony/sources\.d/?[[:space:]]*$' "$file" && continue
    printf '\n# gen: servers of the site\nsourcedir /etc/chrony/sources.d\n' >>"$file"
  done
  # Debian's service has the other name as an alias, which cannot be enabled.
  clock=chronyd
  if systemctl cat chrony.service >/dev/null 2>&1; then clock=chrony; fi
  systemctl enable "$clock"
  systemctl restart "$clock"
fi

if [ -f "$root/etc/systemd/system/etcd-snapshot.timer" ]; then
  echo "7. snapshots of etcd"
  command -v age >/dev/null || { echo "prepare.sh: install the package \`age\`: snapshots are encrypted" >&2; exit 1; }
  systemctl enable --now etcd-snapshot.timer
fi

if [ -f "$root/etc/systemd/system/etcd-defragment.timer" ]; then
  echo "   room that etcd holds and does not use"
  systemctl enable --now etcd-defragment.timer
fi

if [ -f "$root/etc/gen-firewall/rules.nft" ]; then
  echo "8. firewall: whether the kernel takes its rules; they come into force by gen-firewall.sh, on trial first"
  command -v nft >/dev/null || { echo "prepare.sh: install the package \`nftables\`" >&2; exit 1; }
  sh "$root/usr/local/sbin/gen-firewall.sh" check
  systemctl enable gen-firewall.service
fi

if [ -f "$root/etc/systemd/system/node-upgrade.timer" ]; then
  echo "9. upgrades and maintenance, where this machine's Node asks for them"
  command -v kubectl >/dev/null || { echo "prepare.sh: install the package \`kubectl\`" >&2; exit 1; }
  mkdir -p "$root/etc/gen-upgrade"
  dirname "$here" >"$root/etc/gen-upgrade/folder"
  echo "$pool" >"$root/etc/gen-upgrade/pool"
  # By this, what is brought later is told from what is in its place.
  applied=$root/var/lib/gen-upgrade/applied
  rm -rf "$applied"
  mkdir -p "$applied/pools"
  cp -R "$here/all" "$here/prepare.sh" "$applied/"
  if [ -d "$here/pools/$pool" ]; then cp -R "$here/pools/$pool" "$applied/pools/"; fi
  systemctl enable --now node-upgrade.timer
fi

echo "ready: $(hostname) as a node of pool $pool"
