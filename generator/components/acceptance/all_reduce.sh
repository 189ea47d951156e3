#!/bin/sh
# One process for each GPU: mpirun starts this on every worker. One size alone, for the average is over all of them.
set -eu
program=$(command -v all_reduce_perf_mpi || command -v all_reduce_perf) || {
  echo "the image has no all_reduce_perf (nccl-tests, built with MPI=1)" >&2
  exit 127
}
exec "$program" -b "$SIZE" -e "$SIZE" -g 1 -w 5 -n 20 -c 1
