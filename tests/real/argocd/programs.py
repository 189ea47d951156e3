"""Argo CD's programs, where they are built."""

import contextlib

from apiserver import programs
from twin.plane import Plane

from generator.rehearsal.argocd import programs as real


def argo_cd(api: Plane, resync: int = 30) -> contextlib.AbstractContextManager[real.Measured]:
    """Run Argo CD; skips the test where it is not built."""
    programs(*real.PROGRAMS)
    return real.argo_cd(api.real, resync)
