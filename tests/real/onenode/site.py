"""A cluster with the operations of ml50 on one real node, and MinIO at both ends of its backups."""

import base64
import contextlib
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minioserver import ROOT_PASSWORD, ROOT_USER, Server
from reference import ROOT

from generator.components.rook_ceph import NAMESPACE
from generator.live.apiserver import tries
from tools import program

if TYPE_CHECKING:
    from twin.plane import Object, Plane


class Gen:
    """The cluster, and gen as somebody runs it there."""

    def __init__(self, api: "Plane", folder: Path) -> None:
        self.api, self.folder = api, folder

    def gen(self, verb: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run `gen workflow`."""
        return self.run("workflow", verb, *words)

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run `gen`."""
        command = self.command(*words)
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=400)

    def command(self, *words: str) -> list[str]:
        """Return the command that runs `gen` on the cluster."""
        config = str(self.api.address.kubeconfig("admin"))
        return [sys.executable, "-P", "-m", "generator", *words, "--kubeconfig", config, "--cluster", "ml50"]


class Site(Gen):
    """The cluster, the servers of its backups, and a folder for the client."""

    def __init__(self, api: "Plane", source: Server, target: Server, folder: Path) -> None:
        super().__init__(api, folder)
        self.source, self.target = source, target
        self.others: dict[str, str] = {}
        """Where further servers answer, by what the client calls them."""
        self.secrets: set[str] = set()
        """What Secrets hold that nobody may know; an access key is but a name."""

    def backup(self, *words: str, watch: bool = True) -> "subprocess.CompletedProcess[str]":
        """Submit the backup of `datasets`, whose ends are here."""
        ends = [f"source-url={self.source.url}", f"target-url={self.target.url}"]
        given = [word for end in ends for word in ("-p", end)]
        return self.gen("submit", "backup-datasets", *given, *words, *(["--watch"] if watch else []))

    def mc(self, *words: str, text: str | None = None) -> str:
        """Run MinIO's client as the root user of all servers."""
        command, env = self.client(*words)
        return subprocess.run(command, env=env, input=text, capture_output=True, text=True, check=True).stdout

    def client(self, *words: str) -> tuple[list[str], dict[str, str]]:
        """Return the command that runs MinIO's client so, and its environment."""
        servers = {"source": self.source.url, "target": self.target.url, **self.others}
        login = f"://{ROOT_USER}:{ROOT_PASSWORD}@"
        hosts = {f"MC_HOST_{name}": url.replace("://", login) for name, url in servers.items()}
        env = {**hosts, "MC_CONFIG_DIR": str(self.folder / "mc"), "HOME": str(self.folder)}
        return [program("mc"), "--insecure", *words], env

    def digest(self, place: str) -> str:
        """Return the SHA-256 of an object, however large."""
        command, env = self.client("cat", place)
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as process:
            assert process.stdout
            found = hashlib.file_digest(process.stdout, "sha256").hexdigest()  # type: ignore[arg-type]
        assert process.returncode == 0, place
        return found

    def listed(self, bucket: str) -> dict[str, tuple[int, str]]:
        """Return the size and the ETag of each object of a bucket, but for records of backups, by its key."""
        found = map(json.loads, self.mc("--json", "ls", "--recursive", bucket).splitlines())
        return {one["key"]: (one["size"], one["etag"]) for one in found if not one["key"].startswith("_gen/")}

    def at_its_ends(self, one: "Object") -> "Object":
        """Let what is rendered find both servers, and ask for less of the machine, which has two processors."""
        if one["kind"] == "WorkflowTemplate":
            here = {"backup-url": self.target.url, "live-url": self.source.url}
            for parameter in one["spec"]["arguments"]["parameters"]:
                if parameter["name"] in here:
                    parameter["value"] = here[parameter["name"]]
            for volume in one["spec"].get("volumes", ()):
                if "hostPath" in volume:
                    volume["hostPath"]["path"] = str(self.folder / Path(volume["hostPath"]["path"]).name)
        return lighter(one)

    def secret(self, name: str, namespace: str = NAMESPACE, **values: str) -> None:
        self.secrets |= {value for key, value in values.items() if "secret" in key.lower()}
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        metadata = {"name": name, "namespace": namespace}
        self.api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})


def lighter(one: "Object") -> "Object":
    """Ask for less of the machine, which has two processors."""
    for template in one["spec"]["templates"] if one["kind"] == "WorkflowTemplate" else ():
        if "container" in template:
            template["container"]["resources"]["requests"] = {"cpu": "50m", "memory": "64Mi"}
    return one


def await_template(api: "Plane", namespace: str, name: str) -> None:
    """Wait until the controller knows a WorkflowTemplate, and so all that were made before it: what is submitted sooner
    ends in an error at once.
    """
    at = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}/workflows"
    kind = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "probe"}}

    def known() -> bool:
        made = {**kind, "spec": {"suspend": True, "workflowTemplateRef": {"name": name}}}
        assert api.request("POST", at, made)[0] == 201
        told: Object = next(filter(None, ((api.get(f"{at}/probe") or {}).get("status") for _ in tries(60))), {})
        api.request("DELETE", f"{at}/probe")
        api.wait("the probe has gone", lambda: api.get(f"{at}/probe") is None)
        return bool(told) and "not found" not in told.get("message", "")

    api.wait(f"the controller knows {name}", known)


@contextlib.contextmanager
def serving(folder: Path, signed: Path) -> Iterator[Server]:
    server = Server(folder, certificates=signed)
    try:
        yield server
    finally:
        server.stop()


def ready(site: Site) -> None:
    for name in ("source", "target"):
        assert any(served(site, name) for _ in tries(20)), f"MinIO {name} is not ready"


def served(site: Site, name: str) -> bool:
    try:
        site.mc("ls", name)
    except subprocess.CalledProcessError:
        return False
    return True


def run_of(done: "subprocess.CompletedProcess[str]") -> str:
    """Return the name of the run that began."""
    (name,) = re.findall(r"^(\S+) begins", done.stdout, re.MULTILINE)
    return str(name)


def shown(site: Gen, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(site.gen("show", name, "--output", "json").stdout)
    return found


def every(steps: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield steps of a run with those within them, as tries are within what is tried."""
    for one in steps:
        yield one
        yield from every(one["steps"])


def words(**given: str) -> list[str]:
    """Return parameters as `gen workflow submit` takes them."""
    return [word for name, value in given.items() for word in ("-p", f"{name.replace('_', '-')}={value}")]


def good(done: "subprocess.CompletedProcess[str]") -> str:
    """Return the name of a run that succeeded."""
    assert done.returncode == 0, done.stdout + done.stderr
    return run_of(done)
