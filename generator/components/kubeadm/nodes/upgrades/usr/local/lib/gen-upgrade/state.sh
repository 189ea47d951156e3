#!/bin/sh
# What this machine tells of itself, a part of node-upgrade.sh: since when it waits for a reboot, which files of node/ were
# brought and which were put in place last, when the first certificate of its control plane ends. It changes nothing.
# shellcheck disable=SC2154,SC2034 # node-upgrade.sh sets and reads them

look() { # sets told
  if [ "$(cat "$state/boot" 2>/dev/null)" != "$boot" ]; then
    rm -f "$state/waits" "$state/restarting" "$state/conditions"
    echo "$boot" >"$state/boot"
  fi
  told=''
  [ -n "$brought" ] || return 0
  waits=$(since) end=$(first_end)
  told="reboot=$waits files=$(sum "$folder/node") applied=$(sum "$state/applied") certificates=$end"
  soon=False pending=True
  [ "$waits" != no ] || pending=False
  case $end in 20*) [ "$(date -d "$end" +%s)" -gt "$(date -d '30 days' +%s)" ] || soon=True ;; esac
}

conditions() { # of the Node, which monitoring sees; kubelet leaves those alone that are not its own
  # Once a day in any case: somebody may have deleted the Node.
  if [ -n "$(find "$state/conditions" -mmin -1440 2>/dev/null)" ] && [ "$(cat "$state/conditions")" = "$pending $soon" ]; then
    return 0
  fi
  now=$(date -u +%FT%TZ) patch=''
  for each in "RebootPending $pending" "CertificatesEndSoon $soon"; do
    patch="$patch${patch:+,}{\"type\":\"${each% *}\",\"status\":\"${each#* }\",\"reason\":\"Maintenance\",\"message\":\"$told\""
    patch="$patch,\"lastTransitionTime\":\"$now\",\"lastHeartbeatTime\":\"$now\"}"
  done
  kubectl patch node "$node" --subresource=status --patch "{\"status\":{\"conditions\":[$patch]}}" >/dev/null || return 0
  echo "$pending $soon" >"$state/conditions"
}

since() { # when it was first seen that a reboot is waited for, or `no`
  if waits_for_reboot; then
    [ -s "$state/waits" ] || date -u +%FT%TZ >"$state/waits"
    cat "$state/waits"
  else
    rm -f "$state/waits"
    echo no
  fi
}

waits_for_reboot() {
  [ ! -e "$root/run/reboot-required" ] || return 0
  # Not every Debian has what writes that file: the newest kernel is the one that this link leads to. One that was there
  # when the machine booted does not come by a reboot either: the boot menu holds to another one, or to another flavour.
  booted=$(sed -n 's/^btime //p' "$root/proc/stat" 2>/dev/null) || booted=0
  for link in "$root/vmlinuz" "$root/boot/vmlinuz"; do
    if [ ! -L "$link" ] || [ ! -e "$link" ] || [ "$(stat -c %Y "$link")" -lt "$booted" ]; then continue; fi
    [ "$(basename "$(readlink "$link")")" = "vmlinuz-$(uname -r)" ] || return 0
  done
  command -v dnf >/dev/null || return 1
  # It takes seconds. By its words: it fails alike where it is not installed.
  if [ -z "$(find "$state/restarting" -mmin -60 2>/dev/null)" ]; then
    dnf needs-restarting -r >"$state/restarting" 2>&1 || true
  fi
  grep -q '^Reboot is required' "$state/restarting"
}

sum() { # folder: of what prepare.sh takes from it; `none` where it is not there
  [ -d "$1/all" ] || { echo none; return; }
  (cd "$1" && find all "pools/$pool" prepare.sh -type f -exec sha256sum {} + 2>/dev/null) | sort | sha256sum | cut -c 1-16
}

first_end() { # of the certificates that kubeadm renews; `none` on a worker
  [ -f "$root/etc/kubernetes/pki/apiserver.crt" ] || { echo none; return; }
  end=$(ends | sort | head -n 1)
  echo "${end:-unknown}"
}

ends() {
  # What else lies there, as of an issuer of tokens, would be waited for in vain.
  for file in apiserver apiserver-etcd-client apiserver-kubelet-client front-proxy-client etcd/healthcheck-client etcd/peer \
    etcd/server; do
    file=$root/etc/kubernetes/pki/$file.crt
    [ ! -f "$file" ] || end_of <"$file"
  done
  for file in admin controller-manager scheduler super-admin; do
    file=$root/etc/kubernetes/$file.conf
    [ ! -f "$file" ] || sed -n 's/^ *client-certificate-data: //p' "$file" | base64 -d | end_of
  done
}

end_of() { # a certificate on standard input
  end=$(openssl x509 -noout -enddate) && date -u -d "${end#notAfter=}" +%FT%TZ
}
