#!/bin/sh
# Waits until each worker answers, then starts a process for each GPU. Open MPI reads the workers from a file of the
# operator's; the variables name ssh for its version 4 and for 5.
set -eu
for program in ssh mpirun; do
  command -v "$program" >/dev/null || { echo "the image has no $program (OpenSSH, Open MPI)" >&2; exit 127; }
done
# ssh refuses who has no name.
id -un >/dev/null 2>&1 || { echo "the image has no user with the number $(id -u)" >&2; exit 127; }
hosts=$(sed 's/[: ].*//' /etc/mpi/hostfile)
end=$(($(date +%s) + PATIENCE))
for host in $hosts; do
  until ssh -F /program/ssh.conf "$host" true </dev/null; do
    [ "$(date +%s)" -lt "$end" ] || { echo "$host does not answer" >&2; exit 1; }
    sleep 2
  done
done
export OMPI_MCA_plm_rsh_agent="ssh -F /program/ssh.conf" PRTE_MCA_plm_ssh_agent="ssh -F /program/ssh.conf"
exec mpirun --bind-to none --map-by slot "$@"
