"""Programs of acceptance by torchrun, run to their end on two processes without GPUs.

`GEN_PYTORCH` names the folder of a Python that has PyTorch; without it a test skips.
"""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from generator.components.acceptance.templates import programs


def python() -> str:
    """Return the folder of the Python that has it."""
    home = os.environ.get("GEN_PYTORCH")
    if home is None:
        pytest.skip("GEN_PYTORCH names no Python with pytorch")
    return home


def run(
    folder: Path, script: str, *words: str, change: tuple[str, str] = ("", ""), **more: str
) -> tuple[list[int], list[str]]:
    """Run both pods, the first later than the other, whose programs are changed; their exit codes and words."""
    home = python()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begun = []
    for index in (1, 0):
        own = folder / str(index)
        own.mkdir()
        for name, text in programs()["data"].items():
            (own / name).write_text(text.replace(*change) if index == 1 and change[0] else text)
        told = {"PODS": "2", "GPUS": "1", "SIZE": "4M", "PATIENCE": "60", "PORT": str(port), "MEET": "127.0.0.1"}
        here = {"JOB_COMPLETION_INDEX": str(index), "OWN_NAME": f"run-test-{index}", "SUBDOMAIN": "run-test"}
        loopback = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "HOME": str(own), "CUDA_VISIBLE_DEVICES": ""}
        env = {"PATH": f"{home}:{os.environ['PATH']}", **told, **here, **loopback, **(more or {"ON_CPUS": "1"})}
        argv = ["sh", str(own / script), *words]
        begun.append(
            subprocess.Popen(argv, env=env, cwd=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        )
    try:
        said = [one.communicate(timeout=300)[0] for one in begun]
    finally:
        for one in begun:
            one.kill()
    return [one.returncode for one in begun], said
