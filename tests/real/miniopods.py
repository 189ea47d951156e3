"""Pods of MinIO on simulated nodes: for each one runs a real server, and only what kubelet does is played."""

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from generator.components.minio.layout import NAMESPACE
from generator.process import Program, background, stop

if TYPE_CHECKING:
    from nodesteps import Steps

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


class Pods:
    """The pods by the numbers of their servers, and the servers that run."""

    def __init__(self, steps: "Steps", count: int) -> None:
        self.steps = steps
        self.stack = contextlib.ExitStack()
        self.programs: dict[int, Program] = {}
        self.uids: dict[int, str] = {}
        self.pods = {number: f"minio-{number}" for number in range(count)}
        self.ends = threading.Event()

    @contextlib.contextmanager
    def playing(self) -> Iterator[Self]:
        """Play kubelets as long as the block, and end all servers after it."""
        with self.stack, self.steps.beside() as own:
            player = threading.Thread(target=self.play, args=(own,))
            player.start()
            try:
                yield self
            finally:
                self.ends.set()
                player.join()

    def play(self, own: "Steps") -> None:
        """Do what kubelet does, again and again."""
        while not self.ends.is_set():
            self.look(own)
            time.sleep(0.2)

    def look(self, own: "Steps") -> None:
        """Run a server for each new pod."""
        for number, name in self.pods.items():
            pod = own.api.get(f"{PODS}/{name}")
            if pod and pod["spec"].get("nodeName") and self.uids.get(number) != pod["metadata"]["uid"]:
                self.start(number, pod)

    def start(self, number: int, pod: dict[str, Any]) -> None:
        """Run the server of a pod, in place of the one that it had."""
        if number in self.programs:
            stop(self.programs[number])
        self.uids[number] = pod["metadata"]["uid"]
        command = self.command(number, pod)
        self.programs[number] = self.stack.enter_context(background(self.own(number), command))

    def own(self, number: int) -> Path:
        """Return a server's own folder."""
        raise NotImplementedError

    def command(self, number: int, pod: dict[str, Any]) -> list[str]:
        """Return what runs the server of a pod."""
        raise NotImplementedError

    def ready(self) -> bool:
        """Wait until MinIO takes writes; whether it does."""
        raise NotImplementedError

    @contextlib.contextmanager
    def without(self, *numbers: int) -> Iterator[None]:
        """Stop servers as long as the block."""
        for number in numbers:
            stop(self.programs[number])
        yield
        for number in numbers:
            self.programs.pop(number)
            self.start(number, self.steps.api.get(f"{PODS}/{self.pods[number]}"))
        assert self.ready()
