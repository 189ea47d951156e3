#!/bin/bash
# What the scripts of Zabbix's database share; they read it, nobody runs it.
#
# Needs only what PostgreSQL's own image holds: bash, coreutils, awk, and PostgreSQL's programs. PGHOST, PGUSER and
# PGPASSWORD say whose server it is.
set -euo pipefail
export LC_ALL=C TZ=UTC PGCONNECT_TIMEOUT=30
tab=$'\t'

# shellcheck source=SCRIPTDIR/../workflows/client.sh
source "${BASH_SOURCE[0]%/*}/client.sh"

# psql ends with 2 where the server is away, which would be taken for a verdict.
sql() { # database, words of psql: reads statements, and prints rows with tabs
  psql --no-psqlrc --no-align --tuples-only --quiet --field-separator="$tab" --set=ON_ERROR_STOP=1 --dbname="$1" "${@:2}" \
    || return 1
}

# A statement of which psql makes others and runs them: for each table its name as dumps spell it, and its rows.
# shellcheck disable=SC2034  # those who read this file use it
count_each="select format('select %L, count(*) from %I.%I', format('%I.%I', schemaname, tablename), schemaname, tablename)
  from pg_tables where schemaname not in ('pg_catalog', 'information_schema')"

held() { # dump: the tables that have rows in it, and how many. Reads it to its end
  pg_restore --data-only --file=- "$1" | awk '
    !table && $1 == "COPY" { table = $2; count = 0; next }
    table && $0 == "\\." { if (count) print table "\t" count; table = ""; next }
    table { count++ }' | sort
}

filled() { awk -F "$tab" '$2 > 0' | sort; } # reads tables and rows: those that have some

differing() { # two files of tables and rows: the first ten that are not alike, in words
  join -t "$tab" -a 1 -a 2 -e 0 -o 0,1.2,2.2 "$1" "$2" |
    awk -F "$tab" '$2 != $3 && ++count <= 10 { printf "%s%s: %s and %s", sep, $1, $2, $3; sep = ", " }'
}

rows() { awk -F "$tab" -v table="public.$1" '$1 == table { print $2; found = 1 } END { if (!found) print 0 }' "$2"; }
