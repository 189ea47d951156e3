#!/bin/bash
# Put a dump of Zabbix's database in its place: restore.sh restore | switch | undo
#   restore  $WORK/zabbix.dump becomes the database zabbix_restored, and is counted there; the live one is not touched
#   switch   zabbix_restored takes the place of zabbix, which stays as zabbix_before_TIME
#   undo     the database that this switch replaced comes back, and the one that was live since stays as zabbix_undone_TIME
# The last two only while nobody is connected. Each may be killed and run again.
# Exit code 1: trouble that may pass. Exit code 2: a verdict, trying again does not help.
# shellcheck source=SCRIPTDIR/database.sh
source "${BASH_SOURCE[0]%/*}/database.sh"

new=${DATABASE}_restored
# Of the server's own databases the one that is always there.
outside=postgres

there() { # database
  local count
  count=$(sql "$outside" <<<"select count(*) from pg_database where datname = '$1'") \
    || trouble "cannot ask the server which databases it has"
  ((count == 1))
}

word_on() { # database: what `restore`, `switch` or `undo` wrote on it
  sql "$outside" <<<"select shobj_description(oid, 'pg_database') from pg_database where datname = '$1'"
}

# The copy is in the same volume, and a volume that is full stops the live database. Only the server sees it.
room() {
  local free needs
  free=$(sql "$outside" <<'SQL'
create temporary table said (line text);
select format('copy said from program %L', format('df --output=avail -B1 %s | tail -n 1', current_setting('data_directory'))) \gexec
select trim(line) from said;
SQL
  ) || trouble "cannot ask the server how much room it has"
  needs=$(sql "$outside" <<<"select coalesce(max(pg_database_size(oid)), 0) from pg_database where datname = '$DATABASE'")
  ((needs >= 4 * $(stat -c %s "$WORK/zabbix.dump"))) || needs=$((4 * $(stat -c %s "$WORK/zabbix.dump")))
  ((free > needs + needs / 4)) || verdict "the database's volume has $free bytes left, and a second database of about" \
    "$needs would be in it: make the volume larger (monitoring.zabbix.storage), or drop a database zabbix_before_* or" \
    "zabbix_undone_* there"
}

restore() {
  local differs
  sql "$outside" --command "drop database if exists $new with (force)" 2>&1 || trouble "cannot drop what another run left"
  room
  sql "$outside" --command "create database $new template template0 encoding 'UTF8'" || trouble "cannot make database $new"
  pg_restore --exit-on-error --no-owner --no-privileges --jobs="$JOBS" --dbname="$new" "$WORK/zabbix.dump" ||
    trouble "pg_restore did not end well"
  held "$WORK/zabbix.dump" >"$WORK/held"
  sql "$new" <<<"$count_each \gexec" >"$WORK/counted" || trouble "cannot count what was restored"
  filled <"$WORK/counted" >"$WORK/filled"
  differs=$(differing "$WORK/held" "$WORK/filled")
  [[ -z $differs ]] || verdict "rows in the dump and in $new: $differs"
  (($(rows users "$WORK/counted") > 0)) || verdict "$new holds no users: this is no database of Zabbix"
  sql "$new" --command analyze || trouble "cannot analyze $new"
  sql "$outside" --command "comment on database $new is 'gen: dump of $(<"$WORK/chosen")'" || trouble "cannot mark $new"
  say "$new holds the dump of $(<"$WORK/chosen"): $(wc -l <"$WORK/held") tables with rows, all as many as in the dump"
  beside
}

# What a person wants to know before the switch.
beside() {
  local table
  sql "$DATABASE" <<<"$count_each \gexec" >"$WORK/live" 2>/dev/null || {
    say "there is no database $DATABASE to compare it with, or it cannot be read"
    return
  }
  for table in hosts items triggers users actions dashboard events history trends; do
    say "$table: $(rows "$table" "$WORK/live") in $DATABASE, $(rows "$table" "$WORK/counted") in $new"
  done
}

nobody_connected() {
  local who
  who=$(sql "$outside" <<SQL
select string_agg(distinct format('%s %s', coalesce(host(client_addr), 'local'), application_name), ', ')
  from pg_stat_activity where datname in ('$DATABASE', '$new') and backend_type = 'client backend'
SQL
  ) || trouble "cannot ask who is connected"
  [[ -z $who ]] || verdict "somebody is connected ($who): stop zabbix-server and zabbix-web first," \
    "\`kubectl -n zabbix scale deployment zabbix-server zabbix-web --replicas=0\`"
}

at_once() { # SQL: all of it or nothing
  sql "$outside" <<<"begin; $1; commit;" || trouble "the databases could not be renamed; none was"
}

# The word on the live database says which one it replaced: the newest zabbix_before_* may be of another switch.
switch() {
  local word before=nothing
  if ! there "$new"; then
    word=$(word_on "$DATABASE")
    [[ $word == 'gen: dump of '* ]] || verdict "there is no database $new: run this with switch=no first"
    say "in place already: ${word#gen: }"
    return
  fi
  word=$(word_on "$new")
  [[ $word == 'gen: dump of '* ]] || verdict "$new was not restored to its end: run this with switch=no first"
  nobody_connected
  if there "$DATABASE"; then before="${DATABASE}_before_$(date +%Y%m%d_%H%M%S)"; fi
  at_once "$(if [[ $before != nothing ]]; then printf 'alter database %s rename to %s; ' "$DATABASE" "$before"; fi
    printf "alter database %s rename to %s; comment on database %s is '%s, which replaced %s'" \
      "$new" "$DATABASE" "$DATABASE" "$word" "$before")"
  say "$DATABASE is ${word#gen: }; in its place was $before. Start zabbix-server and zabbix-web again"
}

undo() {
  local word before undone
  word=$(word_on "$DATABASE")
  case $word in
    'gen: in place again '*) say "undone already: ${word#gen: }"; return ;;
    'gen: dump of '*', which replaced nothing') verdict "the switch to this ${word#gen: }: there is nothing to bring back" ;;
    'gen: dump of '*', which replaced '*) before=${word##* } ;;
    *) verdict "$DATABASE was not put in its place by a switch: there is nothing to undo" ;;
  esac
  there "$before" || verdict "$before, which this database replaced, is gone"
  nobody_connected
  undone="${DATABASE}_undone_$(date +%Y%m%d_%H%M%S)"
  at_once "alter database $DATABASE rename to $undone; alter database $before rename to $DATABASE; \
    comment on database $DATABASE is 'gen: in place again since $(date +%FT%TZ); $undone was live until then'"
  say "$DATABASE is again what it was before the switch; what was live since stays as $undone. Start zabbix-server and" \
    "zabbix-web again"
}

case ${1-} in
  restore | switch | undo) "$1" ;;
  *) verdict "usage: restore.sh restore|switch|undo" ;;
esac
