"""Pods that pull images, on a real kubelet: an image that holds no program at all starts and ends, and stays in use."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from generator.components.pulled_images import NAMESPACE, pod

if TYPE_CHECKING:
    from onenode.node import Node
    from twin.plane import Plane

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

TOOLS, WAITS, EMPTY, ABSENT = (f"localhost/{name}:1" for name in ("tools", "waits", "empty", "absent"))


@pytest.fixture(scope="module")
def running() -> Iterator[tuple["Plane", "Node"]]:
    from onenode.images import files, image
    from onenode.node import node
    from twin.plane import plane

    busybox = Path("/bin/busybox")
    if not busybox.exists():
        pytest.fail("needs Debian's busybox-static (.ci/packages)")
    with (
        tempfile.TemporaryDirectory(prefix="pull-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        folder = Path(name)
        api = stack.enter_context(plane(folder, simulated=False))
        made = stack.enter_context(node(api))
        made.load(image(folder / "tools.tar", TOOLS, {"/bin/busybox": busybox}))
        made.load(image(folder / "empty.tar", EMPTY, {"/data": b"nothing that runs"}, Entrypoint=["/missing"]))
        made.load(image(folder / "waits.tar", WAITS, files([Path("/bin/sleep")])))
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}})
        yield api, made


def start(api: "Plane", name: str, *images: str) -> None:
    spec = pod(images, TOOLS, WAITS)
    spec["containers"][0]["command"] = ["/bin/sleep", "infinity"]  # for lack of the real pause
    about = {"name": name, "namespace": NAMESPACE}
    api.apply({"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": {**spec, "nodeName": "localhost"}})


def status(api: "Plane", name: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")["status"]
    return found


def test_an_image_without_any_program_is_started_and_kept(running: tuple["Plane", "Node"]) -> None:
    api, node = running
    start(api, "good", EMPTY)
    api.wait("the pod runs", lambda: status(api, "good").get("phase") == "Running")
    ended = [one["state"]["terminated"]["exitCode"] for one in status(api, "good")["initContainerStatuses"]]
    assert ended == [0, 0]
    # What a container was made of, ended or not, is in use for kubelet.
    assert EMPTY in node.ctr("containers", "list")


def test_one_that_cannot_be_pulled_waits_and_says_so(running: tuple["Plane", "Node"]) -> None:
    api, _ = running
    start(api, "bad", ABSENT, EMPTY)

    def waiting() -> list[str]:
        parts = status(api, "bad").get("initContainerStatuses", [])
        return [one["state"].get("waiting", {}).get("reason", "") for one in parts]

    api.wait("the pull fails", lambda: any("Pull" in reason for reason in waiting()))
    assert waiting()[1] in {"ErrImagePull", "ImagePullBackOff"}
    assert waiting()[2] == "PodInitializing"
