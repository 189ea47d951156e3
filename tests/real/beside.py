"""Who acts on a cluster beside what a test does there: kubelets, machines, queues that are played, and watchers."""

import threading
from typing import TYPE_CHECKING, Self

from nodesteps import Steps

if TYPE_CHECKING:
    from apiserver import ApiServer


def connection(steps: Steps) -> "ApiServer":
    """Return a connection of its own: one is not for two threads."""
    from apiserver import ApiServer

    return ApiServer(steps.api.address.port, steps.api.address.certificate, steps.api.token)


class Beside:
    """Does the same `once`, and again after each `pause`, in seconds, as long as the block; what went wrong is told at
    its end.
    """

    pause = 0.2

    def __init__(self, steps: Steps) -> None:
        self.steps, self.api = steps, connection(steps)
        self.over = threading.Event()
        self.wrong: list[object] = []
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join(timeout=60)
        self.api.connection.close()
        assert not self.wrong, self.wrong

    def run(self) -> None:
        while not self.over.wait(self.pause):
            try:
                self.once()
            except BaseException as error:  # noqa: BLE001 - told by whoever ends it
                self.wrong.append(error)
                return

    def once(self) -> None:
        raise NotImplementedError
