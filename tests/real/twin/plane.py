"""The control plane of a twin as tests speak to it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apiserver import ApiServer, programs

from generator.errors import UsageError
from generator.rehearsal.twin import plane as real
from generator.rehearsal.twin.plane import ADMIN, NEEDS_443, Address

Object = dict[str, Any]
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")


class Plane(ApiServer):
    """A running control plane; `real` is how gen itself speaks to it."""

    def __init__(self, plane: real.Plane) -> None:
        self.real = plane
        super().__init__(plane.address.port, plane.address.certificate, plane.address.tokens[ADMIN])

    @property
    def address(self) -> Address:
        return self.real.address

    def get(self, path: str) -> Any:
        """Return what is there, or None where nothing is."""
        status, answer = self.request("GET", path)
        assert status in {200, 404}, answer
        return answer if status == 200 else None

    def items(self, path: str) -> list[Object]:
        """Return the objects of a list."""
        return list(self.get(path)["items"])

    def account(self, namespace: str, name: str) -> Path:
        """Write a kubeconfig of a ServiceAccount, with a token as the API server gives it."""
        return self.real.account(namespace, name)


@contextlib.contextmanager
def plane(folder: Path, *, simulated: bool = True) -> Iterator[Plane]:
    """Run a control plane, with KWOK for nodes that are made later; skips the test without the right to."""
    programs(*PROGRAMS)
    with contextlib.ExitStack() as stack:
        try:
            started = stack.enter_context(real.plane(folder) if simulated else real.control_plane(folder))
        except UsageError as error:
            (pytest.skip if str(error) == NEEDS_443 else pytest.fail)(str(error))
        made = Plane(started)
        stack.enter_context(contextlib.closing(made.connection))
        yield made
