#!/bin/bash
# Dump Zabbix's database into $WORK and prove the dump: dump.sh
#   TIME.dump  in pg_dump's own format
#   TIME.json  what is known of it, written last: without it the other is not whole
# Tables are counted in the very state that is dumped, and the dump is read to its end. Safe to kill and to run again.
# Exit code 1: trouble that may pass. Exit code 2: a verdict, trying again does not help.
# shellcheck source=SCRIPTDIR/database.sh
source "${BASH_SOURCE[0]%/*}/database.sh"

began=$(date +%s)
stamp=$(date -d "@$began" +%Y%m%dT%H%M%SZ)
file="$WORK/$stamp.dump"
# To psql, and to the shell that it starts.
export DATABASE DUMP="$file.part" LEFT_OUT=""
[[ $HISTORY =~ ^(true|false)$ ]] || verdict "history is true or false, not $HISTORY"
[[ $HISTORY == true ]] || LEFT_OUT="--exclude-table-data=history* --exclude-table-data=trends*"

# One transaction sees one state, and pg_dump is told to see the same.
dump() {
  rm -f "$WORK"/*.dump "$WORK"/*.json "$WORK"/*.part "$WORK/counted"
  sql "$DATABASE" >"$WORK/counted" <<SQL || trouble "the database at $PGHOST cannot be read"
begin isolation level repeatable read read only;
select pg_export_snapshot() as snapshot \gset
\setenv SNAPSHOT :snapshot
\! pg_dump --format=custom --snapshot="\$SNAPSHOT" \$LEFT_OUT --file="\$DUMP" "\$DATABASE" || rm -f "\$DUMP"
$count_each \gexec
SQL
  [[ -s $DUMP ]] || trouble "pg_dump did not end well"
  sync "$DUMP"
}

dumped() { # reads tables and rows: those whose rows are meant to be in the dump
  if [[ $HISTORY == true ]]; then cat; else awk -F "$tab" '$1 !~ /^public\.(history|trends)/'; fi
}

is_zabbix() {
  (($(rows dbversion "$WORK/counted") == 1)) || trouble "there is no Zabbix in this database yet: its server makes it"
  (($(rows users "$WORK/counted") > 0)) || verdict "there are no users in this database: it is not whole, and no backup"
}

prove() {
  local listed differs
  listed=$(pg_restore --list "$DUMP" | awk '/ TABLE DATA /' | wc -l) || trouble "pg_restore cannot read the dump"
  ((listed == $(dumped <"$WORK/counted" | wc -l))) || trouble "the dump lists $listed tables, and there are more or fewer"
  held "$DUMP" >"$WORK/held" || trouble "pg_restore cannot read the dump to its end"
  dumped <"$WORK/counted" | filled >"$WORK/filled"
  differs=$(differing "$WORK/filled" "$WORK/held")
  [[ -z $differs ]] || trouble "rows in the database and in the dump: $differs"
}

record() {
  printf '{"backup":%s,"taken":"%s","schema":%d,"server":%s,"history":%s,"tables":%d,"rows":%d,"hosts":%d,' \
    "$(quoted "$NAME")" "$(date -d "@$began" +%FT%TZ)" "$schema" "$(quoted "$server")" "$HISTORY" \
    "$(wc -l <"$WORK/held")" "$(awk -F "$tab" '{ sum += $2 } END { printf "%d", sum }' "$WORK/held")" \
    "$(rows hosts "$WORK/counted")"
  printf '"database":%d,"bytes":%d,"sha256":"%s"}\n' "$size" "$(stat -c %s "$file")" "$(sha256sum "$file" | cut -c 1-64)"
}

dump
is_zabbix
prove
IFS=$tab read -r schema server size < <(sql "$DATABASE" --command \
  "select mandatory, current_setting('server_version'), pg_database_size(current_database()) from dbversion")
mv "$DUMP" "$file"
record >"$WORK/$stamp.json.part"
mv "$WORK/$stamp.json.part" "$WORK/$stamp.json"
say "dumped: $(<"$WORK/$stamp.json")"
