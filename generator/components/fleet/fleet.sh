#!/bin/bash
# All clusters of a repository, rendered or vendored in parts: fleet.sh clone | part | join | check | push
#
# Needs bash, coreutils, Git and gen. Steps may be killed and repeated: each begins with what the one before it left in
# $WORK, and leaves its own there whole. Exit code 1: trouble that may pass, try again. 2: a verdict.
set -euo pipefail
# shellcheck source=SCRIPTDIR/../workflows/client.sh
source "${BASH_SOURCE[0]%/*}/client.sh"

kept="$WORK/repository.git"
parts="$WORK/parts"
# The site's own, which Git trusts, and gen where it fetches charts, beside those of the image.
authorities=${AUTHORITIES-/ca/ca.crt}

# Git's way to the server. The key stands in files alone, which only these two steps mount.
reach() {
  local secrets=${SECRETS-/git} known trusted=()
  export GIT_TERMINAL_PROMPT=0
  if [[ -s $authorities ]]; then
    for known in /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/certs/ca-certificates.crt; do
      [[ ! -s $known ]] || trusted=("$known")
    done
    cat "$authorities" "${trusted[@]}" >"$HOME/ca.crt"
    export GIT_SSL_CAINFO="$HOME/ca.crt"
  fi
  if [[ -s $secrets/sshPrivateKey ]]; then
    export GIT_SSH_COMMAND="ssh -i $secrets/sshPrivateKey -o IdentitiesOnly=yes -o BatchMode=yes \
-o StrictHostKeyChecking=yes -o UserKnownHostsFile=$secrets/knownHosts"
  fi
  if [[ -s $secrets/password ]]; then
    # shellcheck disable=SC2016  # its own argument: what Git asks for
    printf '#!/bin/bash\ncase $1 in Username*) exec cat %q ;; *) exec cat %q ;; esac\n' \
      "$secrets/username" "$secrets/password" >"$HOME/askpass"
    chmod 700 "$HOME/askpass"
    export GIT_ASKPASS="$HOME/askpass"
  fi
}

# gen has looked at everything: what it refuses, it refuses again. Killed, it may do better.
gen_or_verdict() {
  local code=0
  gen "$@" || code=$?
  case $code in
    0) ;;
    1 | 2) verdict "gen $1: see above" ;;
    *) trouble "gen $1 ended with status $code" ;;
  esac
}

clone() {
  reach
  rm -rf "$kept" "$kept.new" "$parts"
  git clone --quiet --bare --single-branch --branch "$BRANCH" -- "$URL" "$kept.new" || trouble "cannot clone $URL"
  mv "$kept.new" "$kept"
  git -C "$kept" rev-parse "refs/heads/$BRANCH" >"$HOME/commit"
  say "$BRANCH is at $(cat "$HOME/commit")"
}

# A working tree of one commit, of this pod alone; objects stay where they are.
tree() {
  rm -rf "$CLONE"
  git clone --quiet --shared --no-checkout -- "$kept" "$CLONE" || trouble "cannot clone $kept"
  git -C "$CLONE" checkout --quiet --detach "$COMMIT" || trouble "$kept has no commit $COMMIT"
}

part() {
  [[ $HOW == render || $HOW == vendor ]] || verdict "how=$HOW: this is neither render nor vendor"
  [[ ! -s $authorities ]] || export GEN_CHART_CA=$authorities
  tree
  gen_or_verdict "$HOW" -C "$CLONE" --shard "$PART/$SHARDS" --to "$parts"
}

join() {
  tree
  gen_or_verdict render -C "$CLONE" --from "$parts"
  git -C "$CLONE" add --all
  if git -C "$CLONE" diff --cached --quiet; then
    say "nothing to change: all is as $COMMIT has it"
  else
    export GIT_AUTHOR_NAME=${AUTHOR% <*} GIT_COMMITTER_NAME=${AUTHOR% <*} GIT_AUTHOR_EMAIL GIT_COMMITTER_EMAIL
    GIT_AUTHOR_EMAIL=${AUTHOR#*<} GIT_AUTHOR_EMAIL=${GIT_AUTHOR_EMAIL%>} GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
    git -C "$CLONE" commit --quiet --message "${HOW^} all clusters

Of ${COMMIT:0:12}, in $SHARDS parts."
    git -C "$CLONE" diff --shortstat HEAD~1
  fi
  git -C "$CLONE" push --quiet --force "$kept" HEAD:refs/heads/rendered || trouble "cannot keep the commit in $kept"
  git -C "$CLONE" rev-parse HEAD >"$HOME/commit"
}

check() {
  tree
  gen_or_verdict check -C "$CLONE" --shard "$PART/$SHARDS"
  gen_or_verdict check -C "$CLONE" --rendered --shard "$PART/$SHARDS"
}

# The branch that was rendered takes the commit only where nobody has pushed there since; a branch for review is ours.
push() {
  local force=(--force)
  if [[ $COMMIT == "$(git -C "$kept" rev-parse "refs/heads/$BRANCH")" ]]; then
    say "nothing to push"
    return
  fi
  reach
  [[ $TARGET != "$BRANCH" ]] || force=()
  git -C "$kept" push --quiet "${force[@]}" -- "$URL" "$COMMIT:refs/heads/$TARGET" ||
    trouble "cannot push to $TARGET; where somebody pushed there meanwhile, submit it again"
  say "pushed $COMMIT to $TARGET"
}

case ${1-} in
  clone | part | join | check | push) "$1" ;;
  *) verdict "usage: fleet.sh clone|part|join|check|push" ;;
esac
