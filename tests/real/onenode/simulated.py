"""Nodes that KWOK plays beside the real one, and the Python that steps on them are written in."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from apiserver import programs
from twin.plane import Plane

from generator.components.python_steps import IMAGE
from generator.live.apiserver import free_ports
from generator.rehearsal.twin import plane as real
from generator.rehearsal.twin.running import listens, running
from onenode.argo import references
from onenode.images import Files, files, image
from onenode.node import Node

MARK = "kwok.x-k8s.io/node"
"""The annotation of nodes that KWOK plays: all others are left to their kubelets."""
PYTHON = "localhost/python:1"
INTERPRETER, LIBRARY = Path("/usr/bin/python3"), Path("/usr/lib/python3.11")
NOT_RUN = {
    "__pycache__",
    "config-3.11-x86_64-linux-gnu",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "test",
    "tkinter",
    "turtledemo",
}


@contextlib.contextmanager
def nodes_beside(api: Plane) -> Iterator[None]:
    """Play all nodes that are marked, until the block ends."""
    (kwok,) = programs("kwok")
    (port,) = free_ports(1)
    words = [one for one in real._kwok(kwok, api.address, port) if one != "--manage-all-nodes=true"]
    words.append(f"--manage-nodes-with-annotation-selector={MARK}=fake")
    with running(api.address.folder / "kwok", words, lambda: listens(port)):
        yield


def load_python(node: Node) -> None:
    """Put the image of the steps onto the node, made of this machine's Python."""
    node.load(image(node.folder / "python.tar", PYTHON, python(), Env=["PATH=/usr/bin"]), *references(IMAGE))


def python() -> Files:
    """Return this machine's Python; skips the test without it."""
    if not (INTERPRETER.exists() and LIBRARY.exists()):
        pytest.skip(f"no {INTERPRETER} with {LIBRARY}")
    modules = [one for one in LIBRARY.rglob("*") if one.is_file() and not NOT_RUN & {*one.relative_to(LIBRARY).parts}]
    held = files([INTERPRETER, *(LIBRARY / "lib-dynload").glob("*.so")])
    return held | {str(one): one for one in modules}
