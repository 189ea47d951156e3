"""What runs training jobs beside Kubernetes' own Jobs."""

from typing import Literal, TypeAlias

Framework: TypeAlias = Literal["jobset", "trainer", "mpi-operator", "training-operator", "kuberay"]
"""An operator of jobs, by its component's name: JobSet, Kubeflow Trainer, the MPI operator, the
training operator (TFJobs), KubeRay."""
