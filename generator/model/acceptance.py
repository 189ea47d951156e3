"""The section `acceptance` of the cluster file."""

from generator.model.base import ImageReference, Section


class Acceptance(Section, frozen=True, kw_only=True):
    """Pools are tried as a whole, by the operation `acceptance`. `image` is one that the site builds: with sh, Open
    MPI and sshd, nccl-tests (`all_reduce_perf`, built with MPI=1), PyTorch (`torchrun`, built with CUDA and NCCL),
    perftest (`ib_write_bw`, built with CUDA) and fio. Where the cluster runs no MPIJobs, it needs no Open MPI, sshd
    and nccl-tests.
    """

    image: ImageReference
