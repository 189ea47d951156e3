#!/bin/sh
# fio in each volume below /disks, one after the other. Each result stands between two lines that begin with `==`.
set -u
DISKS=${DISKS:-/disks}
command -v fio >/dev/null || { echo "the image has no fio" >&2; exit 127; }
for folder in "$DISKS"/*; do
  echo "== disk ${folder##*/}"
  FOLDER=$folder fio --output-format=json "${PROGRAM:-/program}/disks.conf" 2>&1
  echo "== end"
  rm -f "$folder/acceptance"
done
