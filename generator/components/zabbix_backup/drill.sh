#!/bin/bash
# Try whether a dump brings Zabbix's database back: drill.sh
#
# $WORK/zabbix.dump is restored into a PostgreSQL of its own in $PGDATA, which answers on a socket in $PGHOST and on no
# network. Every table is counted there, and held against the dump and against what was recorded when it was taken.
#   drill.json  what came of it
#   rate        seconds for each GiB
# Safe to kill and to run again. Needs what database.sh names, and PostgreSQL's server, of the version that dumped.
# Exit code 1: trouble that may pass. Exit code 2: a verdict, trying again does not help.
# shellcheck source=SCRIPTDIR/database.sh
source "${BASH_SOURCE[0]%/*}/database.sh"

record=$(<"$WORK/record.json")
stamp=$(<"$WORK/chosen")

said() { # name: the number that the dump's record says
  [[ $record =~ \"$1\":([0-9]+) ]] || verdict "the record of the dump of $stamp says no $1"
  printf '%s' "${BASH_REMATCH[1]}"
}

end() { pg_ctl --mode=immediate stop >/dev/null 2>&1 || :; }

# It is thrown away: nothing need survive a crash.
begin() {
  local options="-k $PGHOST -c listen_addresses='' -c fsync=off -c full_page_writes=off -c autovacuum=off"
  rm -rf "$PGDATA"
  initdb --username="$PGUSER" --auth=trust --encoding=UTF8 --locale=C --no-sync >/dev/null || trouble "no server can be made"
  trap end EXIT
  # Not in /dev/shm, which is small in a pod.
  pg_ctl --wait --timeout=120 --log="$PGHOST/server.log" --options="$options -c dynamic_shared_memory_type=mmap" start \
    >/dev/null || trouble "the server does not start: $(tail -n 1 "$PGHOST/server.log")"
}

restore() { # sets micros, and size
  local began=${EPOCHREALTIME/./}
  sql postgres --command "create database $DATABASE template template0 encoding 'UTF8'" || trouble "cannot make the database"
  pg_restore --exit-on-error --no-owner --no-privileges --jobs="$JOBS" --dbname="$DATABASE" "$WORK/zabbix.dump" ||
    trouble "pg_restore did not end well; $(df --output=avail -B1 "$PGHOST" | tail -n 1) bytes of its volume are left"
  micros=$((${EPOCHREALTIME/./} - began))
  size=$(sql "$DATABASE" --command "select pg_database_size(current_database())")
}

compare() { # sets tables, rows_in_all, hosts, schema
  local differs
  held "$WORK/zabbix.dump" >"$WORK/held"
  sql "$DATABASE" <<<"$count_each \gexec" >"$WORK/counted" || trouble "cannot count what was restored"
  filled <"$WORK/counted" >"$WORK/filled"
  differs=$(differing "$WORK/held" "$WORK/filled")
  [[ -z $differs ]] || verdict "rows in the dump of $stamp and in what it brought back: $differs"
  tables=$(wc -l <"$WORK/filled") hosts=$(rows hosts "$WORK/counted")
  rows_in_all=$(awk -F "$tab" '{ sum += $2 } END { printf "%d", sum }' "$WORK/filled")
  schema=$(sql "$DATABASE" --command "select mandatory from dbversion")
  (($(rows users "$WORK/counted") > 0)) || verdict "the dump of $stamp holds no users: this is no database of Zabbix"
}

as_recorded() { # pairs of name and number
  while (($#)); do
    (($2 == $(said "$1"))) || verdict "the dump of $stamp brought back other $1 than its record says: $2 and $(said "$1")"
    shift 2
  done
}

tell() {
  # shellcheck disable=SC2017  # the product of all would be too large
  local tenths=$((micros / 100 * 1073741824 / size / 1000)) server
  server=$(sql "$DATABASE" --command "select current_setting('server_version')")
  printf '%d.%d' $((tenths / 10)) $((tenths % 10)) >"$WORK/rate"
  printf '{"backup":%s,"of":"%s","schema":%d,"server":%s,"tables":%d,"rows":%d,"hosts":%d,"database":%d,"seconds":%d,' \
    "$(quoted "$NAME")" "$stamp" "$schema" "$(quoted "$server")" "$tables" "$rows_in_all" "$hosts" "$size" \
    $((micros / 1000000)) >"$WORK/drill.json"
  printf '"secondsPerGiB":%s,"started":"%s","finished":"%s"}' "$(<"$WORK/rate")" "$(date -d "@$SINCE" +%FT%TZ)" \
    "$(date +%FT%TZ)" >>"$WORK/drill.json"
  say "the dump of $stamp brings back $tables tables with $rows_in_all rows, as many as were dumped, in" \
    "$((micros / 1000000)) s"
}

begin
restore
compare
as_recorded tables "$tables" rows "$rows_in_all" hosts "$hosts" schema "$schema"
tell
