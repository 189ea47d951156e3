"""`gen secret rotate minio-root` with four real MinIO servers: they are the pods of a cluster that is played, and begin
anew with what the Secret holds as soon as their pod is deleted.
"""

import contextlib
import subprocess
import threading
from base64 import b64decode
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from livecluster import LiveCluster, living
from rotationsite import Site, begin
from test_minio_drives import DRIVES, SERVERS, Store, eventually, store

from generator.day2.rotation import rotating, syncs
from generator.live.secret_objects import encoded
from generator.model.cluster import Cluster
from generator.process import Program, background, stop

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

__all__ = ["store"]
NAME = "minio/minio-root"
FORMER = {"rootUser": "rootuser", "rootPassword": "rootpassword"}
BEFORE, LATER = "2026-01-01T00:00:00Z", "2031-01-01T00:00:00Z"
USERS_KEY = "someone:secret-of-someone"
OWN_KEY = "accesskeyofsomeone:secret-of-the-key"


class Pods:
    """The servers as pods of a StatefulSet that are replaced only when somebody deletes them."""

    def __init__(self, cluster: LiveCluster, store: Store) -> None:
        self.cluster, self.store = cluster, store
        self.programs: dict[int, Program] = {}
        self.stack = contextlib.ExitStack()
        metadata = {"name": "minio", "namespace": "minio"}
        spec = {"replicas": SERVERS, "updateStrategy": {"type": "OnDelete"}}
        self.set = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}
        self.tell(ready=SERVERS)

    def tell(self, ready: int) -> None:
        self.cluster.add(self.set | {"status": {"replicas": SERVERS, "readyReplicas": ready}})

    def start(self, number: int, made: str) -> None:
        data = self.cluster.get("Secret", "minio-root")["data"]
        root = {key: decoded(value) for key, value in data.items()}
        env = {"MINIO_ROOT_USER": root["rootUser"], "MINIO_ROOT_PASSWORD": root["rootPassword"]}
        self.programs[number] = self.stack.enter_context(
            background(self.store.own(number), self.store.command(number, **env))
        )
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "minio", "uid": "1"}
        metadata: dict[str, Any] = {"name": f"minio-{number}", "namespace": "minio", "creationTimestamp": made}
        spec = {"containers": [{"name": "x", "envFrom": [{"secretRef": {"name": "minio-root"}}]}]}
        metadata["ownerReferences"] = [owner]
        self.cluster.add({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    @contextlib.contextmanager
    def playing(self) -> Iterator[None]:
        """Play the controller of the StatefulSet as long as the block."""
        ended, failed = threading.Event(), []

        def play() -> None:
            with self.stack:
                for number in range(SERVERS):
                    self.start(number, BEFORE)
                while not ended.wait(0.1):
                    try:
                        self.replace()
                    except Exception as error:  # noqa: BLE001 - told by the test
                        failed.append(error)
                        return

        thread = threading.Thread(target=play)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
        assert not failed, failed

    def replace(self) -> None:
        gone = [n for n in range(SERVERS) if f"/api/v1/namespaces/minio/pods/minio-{n}" not in self.cluster.objects]
        for number in gone:
            stop(self.programs[number])
        for number in gone:
            self.start(number, LATER)
        if gone:
            self.tell(ready=0)
        elif self.store.ready(5.0):
            self.tell(ready=SERVERS)


def decoded(value: str) -> str:
    return b64decode(value).decode()


def as_key(store: Store, key: str, *words: str, text: str = "") -> int:
    """Return the exit status of a command of the client with a key."""
    env = {"HOME": str(store.folder), "MC_HOST_s": f"http://{key}@127.0.0.1:{store.ports[0]}"}
    done = subprocess.run(
        [store.mc, *words], env=env, input=text, text=True, capture_output=True, check=False, timeout=60
    )
    return done.returncode


@pytest.fixture
def played(tmp_path: Path, ml50: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[LiveCluster, Site]]:
    monkeypatch.setattr(syncs, "POLL", 0.1)
    monkeypatch.setattr(rotating, "TICK", 0.0)
    (tmp_path / "cluster").mkdir()
    with living(tmp_path / "cluster") as (cluster, running):
        found = begin(running, ml50, "minio")
        data = encoded({key: value.encode() for key, value in FORMER.items()})
        metadata = {"name": "minio-root", "namespace": "minio"}
        cluster.add({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
        yield cluster, found


def fill(store: Store) -> None:
    """Have a bucket, a user with a policy, and a key of the user's own, and see them work."""
    root = ":".join(FORMER.values())
    eventually("MinIO answers", lambda: as_key(store, root, "ready", "s") == 0)
    for words in (
        ("mb", "s/data"),
        ("admin", "user", "add", "s", *USERS_KEY.split(":")),
        ("admin", "policy", "attach", "s", "readwrite", "--user", "someone"),
    ):
        assert as_key(store, root, *words) == 0, words
    own = ("--access-key", OWN_KEY.partition(":")[0], "--secret-key", OWN_KEY.partition(":")[2])
    assert as_key(store, root, "admin", "user", "svcacct", "add", *own, "s", "someone") == 0
    assert works(store) == (True, True)


def works(store: Store) -> tuple[bool, bool]:
    """Tell whether the user and its key may write."""
    user, own = (as_key(store, key, "pipe", "s/data/x", text="x") == 0 for key in (USERS_KEY, OWN_KEY))
    return user, own


def test_all_servers_take_the_new_key_and_users_keep_theirs(store: Store, played: tuple[LiveCluster, Site]) -> None:
    cluster, site = played
    for number in range(SERVERS):
        for drive in range(DRIVES):
            store.place(f"export-{drive}", number).mkdir(parents=True)
    with Pods(cluster, store).playing():
        fill(store)
        site.hooks["minio"] = partial(set_up, store, site)
        with site.synced("minio"):
            site.rotating(NAME)[0].run()
        assert as_key(store, root(site), "admin", "info", "s") == 0
        assert as_key(store, ":".join(FORMER.values()), "admin", "info", "s") != 0
        eventually("the user and its key are known", lambda: works(store) == (True, True))


def set_up(store: Store, site: Site) -> bool:
    """Do what the Job of the setup does first: it waits until the key is taken."""
    eventually("the key is taken", lambda: as_key(store, root(site), "admin", "user", "list", "s") == 0)
    return True


def root(site: Site) -> str:
    held = site.values(NAME)
    return f"{held['rootUser']}:{held['rootPassword']}"
