"""Programs of acceptance by torchrun, run to their end on two processes without GPUs."""

import contextlib
import os
import socket
import subprocess
from pathlib import Path

from frameworkhomes import home

from generator.components.acceptance.templates import programs

ON_CPUS = {"ON_CPUS": "1"}


def run(
    folder: Path, script: str, *words: str, change: tuple[str, str] = ("", ""), **more: str
) -> tuple[list[int], list[str]]:
    """Run both pods, the first later than the other, whose programs are changed; their exit codes and words."""
    python = home("pytorch", folder)
    port = _two_ports()
    begun = []
    for index in (1, 0):
        own = folder / str(index)
        own.mkdir()
        for name, text in programs()["data"].items():
            (own / name).write_text(text.replace(*change) if index == 1 and change[0] else text)
        told = {"PODS": "2", "GPUS": "1", "SIZE": "4M", "PATIENCE": "60", "PORT": str(port), "MEET": "127.0.0.1"}
        here = {"JOB_COMPLETION_INDEX": str(index), "OWN_NAME": f"run-test-{index}", "SUBDOMAIN": "run-test"}
        loopback = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "HOME": str(own), "CUDA_VISIBLE_DEVICES": ""}
        soon = {"PET_MONITOR_INTERVAL": "0.1"}  # as newer ones look after their processes; PyTorch 1.13 does each 5 s
        env = {"PATH": f"{python}:{os.environ['PATH']}", **told, **here, **loopback, **soon, **(more or ON_CPUS)}
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


def _two_ports() -> int:
    """Return a port that is free with the next one: a program that goes on meets there. None that Linux gives clients
    meanwhile: whoever finds it taken ends, and the other pod waits for it.
    """
    for port in range(20000 + os.getpid() % 4000 * 2, 32000, 2):
        with contextlib.suppress(OSError), socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", port))
            second.bind(("127.0.0.1", port + 1))
            return port
    raise AssertionError("no two ports are free")
