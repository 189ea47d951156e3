#!/bin/sh
# Gives the database's user the password of the Secret before the server begins: the image does so only for a new
# database. The server is not there yet, so that nobody need know the former password, and a start after any interruption
# does it anew. In this mode a newline ends a statement; nothing of it is logged.
set -eu
test -s "$PGDATA/PG_VERSION" || exit 0
user=$(printf '%s' "$POSTGRES_USER" | sed 's/"/""/g')
password=$(printf '%s' "$POSTGRES_PASSWORD" | sed "s/'/''/g")
printf "ALTER ROLE \"%s\" PASSWORD '%s'\n" "$user" "$password" |
  postgres --single -D "$PGDATA" -c exit_on_error=on -c log_min_error_statement=panic -c log_statement=none \
    postgres >/dev/null
echo "the user has the password of the Secret"
