"""Volcano, where it is built."""

import contextlib
from typing import Any

from apiserver import programs

from generator.rehearsal.twin import volcano as real
from generator.rehearsal.twin.plane import Plane


def volcano(api: Plane, *changes: Any) -> contextlib.AbstractContextManager[None]:
    """Run both of its programs; skips the test where they are not built."""
    programs("vc-scheduler", "vc-controller-manager")
    return real.volcano(api, *changes)
