"""MinIO for pods that really run: real servers on loopback, by the names, the settings and the TLS that are rendered. A
server sees the drives that were mounted when it started, as in its pod; kubelets of its nodes are played.
"""

import contextlib
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miniopods import Pods
from minioserver import certificates
from onenode.argo import client, load_client

from generator.components.minio import minio
from generator.components.minio.access import certificate
from generator.components.minio.layout import CONSOLE_PORT, NAMESPACE, PORT, SERVICE, layout_of
from generator.live.apiserver import free_ports
from generator.model.cluster import Cluster

if TYPE_CHECKING:
    from livesite import Site

KINDS = ("ConfigMap", "PersistentVolume", "PodDisruptionBudget", "ServiceAccount", "StatefulSet", "StorageClass")
MOUNTED = """
mount --bind "$HOSTS" /etc/hosts
for drive in "$DRIVES"/*; do
    mkdir -p "${drive##*/}"
    mount --bind "$drive" "${drive##*/}"
done
exec "$@"
"""
"""Runs a program in its folder with the names of all pods, and with a node's drives as they are now."""
CLIENT = """#!/usr/bin/sh
export MC_HOST_site="${{MC_HOST_site%@{asked}}}@{answers}"
exec /usr/libexec/mc "$@"
"""
"""The client, which finds the Service: no name of a cluster is known on this machine."""


class Served(Pods):
    """The pods of MinIO, and its servers."""

    def __init__(self, site: "Site", cluster: Cluster, mc: str, server: str) -> None:
        super().__init__(site.steps, 0)
        self.site, self.cluster, self.mc, self.server = site, cluster, mc, server
        self.folder = site.folder / "minio"
        self.port, self.console = free_ports(2)
        self.keys = {one.name: {key: secrets.token_hex(16) for key in one.keys} for one in minio(cluster).secrets}
        self.certificates = self._certified()

    def _certified(self) -> Path:
        assert self.cluster.storage.objects
        names = certificate(self.cluster, self.cluster.storage.objects)["spec"]["dnsNames"]
        made = certificates(self.folder / "certs", ",".join([f"IP:{address(0)}", *(f"DNS:{name}" for name in names)]))
        files = {"ca.crt": "CAs/ca.crt", "tls.crt": "public.crt", "tls.key": "private.key"}
        self.keys["minio-tls"] = {key: (made / file).read_text() for key, file in files.items()}
        return made

    @property
    def endpoint(self) -> str:
        """Where MinIO is asked."""
        return f"{address(0)}:{self.port}"

    def bring(self, cluster: Cluster) -> None:
        """Do what a sync does, but for the Job that sets MinIO up: it is there, and does not run."""
        names = [f"{pool.name}-{number}" for pool in layout_of(cluster) for number in range(len(pool.machines))]
        hosts = [f"{address(number)} {self.host(name)}\n" for number, name in enumerate(names)]
        (self.folder / "hosts").write_text("".join(hosts))
        component = minio(cluster)
        for one in (*component.base, *component.objects):
            if one["kind"] == "Job":
                self.site.api.apply({**one, "spec": {**one["spec"], "suspend": True}})
            elif one["kind"] in KINDS:
                self.site.api.apply(one)
        self.pods = dict(enumerate(names))

    def host(self, pod: str) -> str:
        """Return the name of a pod, by which the others find its server."""
        return f"{pod}.minio-hl.{NAMESPACE}.svc.{self.cluster.kubernetes.dns_domain}"

    def own(self, number: int) -> Path:
        made = self.folder / f"server-{number}"
        made.mkdir(exist_ok=True)
        return made

    def drive(self, node: str, number: int) -> Path:
        """Return where a drive is mounted on its node."""
        return self.folder / "drives" / node / f"export-{number}"

    def changed(self, node: str, number: int) -> Path:
        """Mount an empty drive in place of another one; where that is now."""
        drive = self.drive(node, number)
        former = drive.rename(self.folder / f"former-{secrets.token_hex(4)}")
        drive.mkdir()
        return former

    def command(self, number: int, pod: dict[str, Any]) -> list[str]:
        """Return what runs the server of a pod as the pod says, but for the places of ports and drives."""
        (container,) = pod["spec"]["containers"]
        env = {one["name"]: self._value(one) for one in container["env"]}
        # The drives lie on the machine's own disk; and a loopback address is taken for its own by no server.
        env |= {"MINIO_CI_CD": "1", "_MINIO_SERVER_LOCAL": f"{self.host(self.pods[number])}:{self.port}"}
        drives = self.drive(pod["spec"]["nodeName"], 0).parent
        for one in container["volumeMounts"]:
            if one["name"].startswith("export-"):
                (drives / one["name"]).mkdir(parents=True, exist_ok=True)
        env |= {"HOSTS": str(self.folder / "hosts"), "DRIVES": str(drives)}
        words = [f"--chdir={self.own(number)}", *(f"{key}={value}" for key, value in env.items())]
        apart = ["unshare", "--mount", "sh", "-euc", MOUNTED, "sh"]
        return ["/usr/bin/env", *words, *apart, self.server, *(self._here(one, number) for one in container["args"])]

    def _value(self, one: dict[str, Any]) -> str:
        if "value" in one:
            return str(one["value"])
        key = one["valueFrom"]["secretKeyRef"]
        return self.keys[key["name"]][key["key"]]

    def _here(self, word: str, number: int) -> str:
        own = address(number)
        places = {
            f"--address=:{PORT}": f"--address={own}:{self.port}",
            f"--console-address=:{CONSOLE_PORT}": f"--console-address={own}:{self.console}",
            "--certs-dir=/etc/minio/certs": f"--certs-dir={self.certificates}",
        }
        return places.get(word, word.replace(f":{PORT}/", f":{self.port}/proc/self/cwd/"))

    def asks(self, *words: str, text: str = "") -> "subprocess.CompletedProcess[str]":
        """Run the client as the root user."""
        login = ":".join(self.keys["minio-root"].values())
        env = {"HOME": str(self.folder), "MC_HOST_s": f"https://{login}@{self.endpoint}"}
        command = [self.mc, "--insecure", *words]
        return subprocess.run(command, env=env, input=text, capture_output=True, text=True, check=False, timeout=120)

    def ready(self) -> bool:
        return any(self.asks("ready", "s").returncode == 0 for _ in range(10))

    def load(self) -> None:
        """Give the real node the image of the client."""
        held = client()
        held["/usr/libexec/mc"] = held["/usr/bin/mc"]
        held["/usr/bin/mc"] = CLIENT.format(asked=f"{SERVICE}:{PORT}", answers=self.endpoint).encode()
        load_client(self.site.real, held)

    def settle(self) -> None:
        """Have the Secrets that pods of MinIO are given."""
        for name, values in self.keys.items():
            metadata = {"name": name, "namespace": NAMESPACE}
            self.site.api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": values})


def address(number: int) -> str:
    """Return where a server is."""
    return f"127.0.1.{number + 1}"


@contextlib.contextmanager
def serving(site: "Site", cluster: Cluster) -> Iterator[Served]:
    """Run MinIO as rendered until the block ends."""
    from apiserver import programs

    made = Served(site, cluster, *programs("mc", "minio"))
    made.load()
    made.settle()
    made.bring(cluster)
    with made.playing():
        site.until("all servers began", lambda: len(made.programs) == len(made.pods))
        assert made.ready()
        yield made
