#!/bin/sh
# Trains to the middle, saves and ends; then new processes go on from what was saved. They meet at a port of their own: that
# of the first ones may not be free yet.
set -eu
CHECKPOINT=$(mktemp -d)
export CHECKPOINT
sh "${0%/*}/torch.sh" training.py
PORT=$((PORT + 1)) sh "${0%/*}/torch.sh" training.py
rm -rf "$CHECKPOINT"
