#!/bin/bash
# Tell when the newest snapshot was taken that lies whole on this node, in seconds since 1970, in $SAID; 0 where there is
# none: look.sh
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

newest=0
for file in "$FILES"/*.json; do
  # A clock that was ahead would hide for as long that nothing comes any more.
  if [[ -f $file ]] && whole "$file" && ((taken <= SINCE + 3600 && taken > newest)); then newest=$taken; fi
done
printf '%s' "$newest" >"$SAID"
if ((newest)); then say "newest snapshot of node $NODE: $(date -d "@$newest" +%FT%TZ)"
else say "node $NODE has no whole snapshot: \`systemctl status etcd-snapshot\` there"
fi
