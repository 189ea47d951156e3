#!/bin/sh
# Runs a program, and starts it again when it fails, RESTARTS times: the pod stays, and its disk. Pods of a job fail
# together and wait for each other again. A signal to end is handed on, and nothing is started after it.
set -eu
program="" ended=false tries=0
trap 'ended=true; [ -z "$program" ] || kill -TERM "$program" 2>/dev/null || true' TERM
while :; do
  "$@" &
  program=$!
  # It came before anybody could be told.
  ! $ended || kill -TERM "$program" 2>/dev/null || true
  code=0
  wait "$program" || code=$?
  # A signal ends the waiting, and not the program.
  while kill -0 "$program" 2>/dev/null; do
    code=0
    wait "$program" || code=$?
  done
  program=""
  if [ "$code" = 0 ] || $ended || [ "$tries" -ge "$RESTARTS" ]; then
    exit "$code"
  fi
  tries=$((tries + 1))
  echo "ended with $code: started again in $((PAUSE * tries)) s, $tries of $RESTARTS times" >&2
  sleep "$((PAUSE * tries))"
  if $ended; then
    exit "$code"
  fi
done
