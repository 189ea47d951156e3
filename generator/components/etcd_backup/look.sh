#!/bin/bash
# Tell when the newest snapshot was taken that lies whole on this node, in $SAID/taken, and when the newest was that brought
# etcd back in a drill, in $SAID/worked, in seconds since 1970; 0 where there is none. $SAID/good says how the last drill
# ended: 1 or 0, or `none`: look.sh
#
# Only tells: what is too old is for those to say who watch. Needs only bash and coreutils.
set -euo pipefail
export LC_ALL=C TZ=UTC
# shellcheck source=SCRIPTDIR/../workflows/client.sh
source "${BASH_SOURCE[0]%/*}/client.sh"

whole() { # file about a snapshot: whether the snapshot is there in its length; sets when it was taken
  local text
  text=$(<"$1")
  [[ $text =~ \"taken\":\"([0-9TZ:-]+)\" ]] && taken=$(date -d "${BASH_REMATCH[1]}" +%s) || return
  [[ $text =~ \"bytes\":([0-9]+) ]] && [[ $(stat -c %s "${1%.json}.db.age" 2>/dev/null) == "${BASH_REMATCH[1]}" ]]
}

drill() { # of the file about the last one: sets how it ended, and when one was good
  local text=''
  worked=0 good=none
  [[ ! -f $FILES/last-drill ]] || text=$(<"$FILES/last-drill")
  [[ ! $text =~ \"worked\":\"([0-9TZ:-]+)\" ]] || worked=$(date -d "${BASH_REMATCH[1]}" +%s) || worked=0
  # As of snapshots: a clock that was ahead.
  if ((worked > SINCE + 3600)); then worked=0; fi
  case $text in *'"result":"good"'*) good=1 ;; *'"result":"bad"'*) good=0 ;; esac
}

newest=0
for file in "$FILES"/*.json; do
  # A clock that was ahead would hide for as long that nothing comes any more.
  if [[ -f $file ]] && whole "$file" && ((taken <= SINCE + 3600 && taken > newest)); then newest=$taken; fi
done
drill
mkdir -p "$SAID"
printf '%s' "$newest" >"$SAID/taken"
printf '%s' "$worked" >"$SAID/worked"
printf '%s' "$good" >"$SAID/good"
if ((newest)); then say "newest snapshot of node $NODE: $(date -d "@$newest" +%FT%TZ)"
else say "node $NODE has no whole snapshot: \`systemctl status etcd-snapshot\` there"
fi
case $good in
  1) say "it brings etcd back: drill of node $NODE: $(<"$FILES/last-drill")" ;;
  0) say "node $NODE has a snapshot that did not bring etcd back: \`systemctl status etcd-snapshot\` there" ;;
  *) say "no snapshot of node $NODE was tried yet: its next one is" ;;
esac
