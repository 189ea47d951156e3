#!/bin/sh
# Lets the launcher in by the keys that the operator made, as the user of the pod and on a port that needs no rights.
# What the launcher starts gets the pod's variables, which sshd alone would not hand on; it takes no quotes and no lines.
set -eu
folder=$(mktemp -d)
ssh-keygen -q -t ed25519 -N "" -f "$folder/host"
variables=""
for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
  value=$(printenv "$name") || continue
  case "$name $value" in
    _* | PWD* | SHLVL* | *'"'* | *'
'*) ;;
    *) variables="$variables $name=\"$value\"" ;;
  esac
done
cat >"$folder/sshd.conf" <<END
Port 2222
HostKey $folder/host
AuthorizedKeysFile $SSH/authorized_keys
PasswordAuthentication no
StrictModes no
UsePAM no
PidFile none
SetEnv$variables
END
exec "$(command -v sshd || echo /usr/sbin/sshd)" -De -f "$folder/sshd.conf"
