"""`node/discovery.sh`, the file by which nodes join: made by the real kubeadm, judged by it and a real API server."""

import base64
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from reference import load

from generator.components.kubeadm.node import node_files
from generator.live.apiserver import tries
from generator.live.times import moment, stamp
from tools import program

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real
SECRETS = "/api/v1/namespaces/kube-system/secrets"
GROUP = "system:bootstrappers:kubeadm:default-node-token"
WRAPPED = """#!/bin/sh
printf '%s\\n' "$*" >>{asked}
exec {real} "$@"
"""


class Plane:
    """A control-plane node: its `/etc/kubernetes` is a folder, and what its programs were asked is written down."""

    def __init__(self, api: "ApiServer", folder: Path, programs: dict[str, str]) -> None:
        self.api, self.etc, self.bin, self.asked = api, folder / "kubernetes", folder / "bin", folder / "asked"
        self.etc.mkdir()
        self.bin.mkdir()
        for name, real in programs.items():
            self.program(name, WRAPPED.format(asked=self.asked, real=real))
        api.kubeconfig(self.etc / "admin.conf")

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def run(self, *command: str, text: str | None = None) -> "subprocess.CompletedProcess[str]":
        """Run a command with the node's programs; what is not proven says why."""
        env = {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "HOME": str(self.etc.parent)}
        return subprocess.run(command, env=env, input=text, capture_output=True, text=True, check=False, timeout=120)

    def make(self) -> "subprocess.CompletedProcess[str]":
        """Run the script."""
        files = {str(path): str(content) for path, content in node_files(load("ml50")).items()}
        return self.run("sh", "-s", text=files["node/discovery.sh"].replace("/etc/kubernetes", str(self.etc)))

    @property
    def conf(self) -> Path:
        """The file that is copied to nodes."""
        return self.etc / "discovery.conf"

    def told(self) -> dict[str, Any]:
        """Return what the file says."""
        found: dict[str, Any] = yaml.safe_load(self.conf.read_text())
        return found

    def token(self) -> str:
        """Return the token in the file."""
        (one,) = self.told()["users"]
        return str(one["user"]["token"])

    def secret(self) -> dict[str, str]:
        """Return what the token's Secret holds."""
        code, found = self.api.request("GET", f"{SECRETS}/bootstrap-token-{self.token().partition('.')[0]}")
        assert (code, found["type"]) == (200, "bootstrap.kubernetes.io/token"), found
        return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}

    def whoami(self) -> "subprocess.CompletedProcess[str]":
        """Ask the API server by the file alone who one is."""
        return self.run("kubectl", "--kubeconfig", str(self.conf), "auth", "whoami", "--output", "json")

    def refused(self) -> bool:
        """Tell whether the server comes to know the file's token no more: it sees changes of Secrets a moment later."""
        return any("Unauthorized" in (self.whoami().stderr) for _ in tries(20))


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    from apiserver import start

    folder = tmp_path_factory.mktemp("joins")
    (folder / "server").mkdir()
    with start(folder / "server", "--enable-bootstrap-token-auth") as api:
        yield Plane(api, folder, {name: program(name) for name in ("kubeadm", "kubectl")})


@pytest.fixture
def made(plane: Plane) -> Plane:
    done = plane.make()
    assert (done.returncode, done.stdout, done.stderr) == (0, f"made {plane.conf}: good for two hours\n", "")
    return plane


def test_the_token_ends_after_two_hours(made: Plane) -> None:
    found = made.secret()
    assert found["token-id"] + "." + found["token-secret"] == made.token()
    assert found["description"] == "joining nodes"
    end, wanted = moment(found["expiration"]), datetime.now(UTC) + timedelta(hours=2)
    assert end
    assert wanted - timedelta(minutes=1) < end <= wanted


def test_who_has_the_file_is_a_node_that_joins_and_nobody_else(made: Plane) -> None:
    """A token has no rights of its own: those of its group are kubeadm's, to ask for a certificate."""
    who = json.loads(made.whoami().stdout)["status"]["userInfo"]
    assert who["username"] == f"system:bootstrap:{made.token().partition('.')[0]}"
    assert {GROUP, "system:bootstrappers"} <= {*who["groups"]}
    for kind in ("secrets", "nodes", "configmaps"):
        done = made.run("kubectl", "--kubeconfig", str(made.conf), "get", kind, "--namespace", "kube-system")
        assert "is forbidden" in done.stderr, done


def test_a_token_that_was_deleted_or_has_ended_is_refused(made: Plane) -> None:
    name, admin = made.token().partition(".")[0], str(made.etc / "admin.conf")
    done = made.run("kubeadm", "token", "delete", name, "--kubeconfig", admin)
    assert done.returncode == 0, done.stderr
    assert made.refused()
    assert made.make().returncode == 0
    assert made.whoami().returncode == 0
    past = base64.b64encode(stamp(datetime.now(UTC) - timedelta(seconds=1)).encode()).decode()
    path = f"{SECRETS}/bootstrap-token-{made.token().partition('.')[0]}"
    assert made.api.request("PATCH", path, {"data": {"expiration": past}}, patch="merge-patch+json")[0] == 200
    assert made.refused()


def test_kubeadm_finds_and_trusts_the_cluster_by_the_file(made: Plane) -> None:
    """As far as the cluster's configuration, which it may not read here: nobody made kubeadm's roles."""
    command = ("kubeadm", "join", "phase", "preflight", "--ignore-preflight-errors=all", "--discovery-file")
    joined = made.run(*command, str(made.conf))
    assert joined.returncode != 0
    user = f"system:bootstrap:{made.token().partition('.')[0]}"
    assert f'configmaps "kubeadm-config" is forbidden: User "{user}"' in joined.stderr, joined.stderr


def test_the_authority_in_the_file_has_the_hash_that_kubeadm_gives(made: Plane) -> None:
    admin = str(made.etc / "admin.conf")
    done = made.run("kubeadm", "token", "create", "--print-join-command", "--ttl", "1m", "--kubeconfig", admin)
    hashes = re.findall(r"--discovery-token-ca-cert-hash sha256:(\w+)", done.stdout)
    (cluster,) = (one["cluster"] for one in made.told()["clusters"])
    assert cluster["server"] == made.api.url
    authorities = base64.b64decode(cluster["certificate-authority-data"]).decode()
    found = [hash_of(made, one) for one in re.findall(r"-----BEGIN.*?-----END [A-Z]+-----\n", authorities, re.DOTALL)]
    assert found == hashes != []


def hash_of(plane: Plane, certificate: str) -> str:
    """Return the SHA-256 of a certificate's public key, as Kubernetes' documentation of `kubeadm join` computes it."""
    key = plane.run("openssl", "x509", "-pubkey", "-noout", text=certificate).stdout
    command = ["openssl", "pkey", "-pubin", "-outform", "der"]
    return hashlib.sha256(
        subprocess.run(command, input=key.encode(), capture_output=True, check=True).stdout
    ).hexdigest()


def test_the_token_stands_in_the_file_alone_and_is_for_root(plane: Plane) -> None:
    plane.asked.write_text("")
    done = plane.make()
    secret = plane.token().partition(".")[2]
    asked = plane.asked.read_text()
    assert "token create" in asked
    for where, text in (("what is printed", done.stdout + done.stderr), ("commands, which all users see", asked)):
        assert secret not in text, where
    assert {one.name: one.stat().st_mode & 0o777 for one in plane.etc.iterdir() if one.name != "admin.conf"} == {
        "discovery.conf": 0o600
    }
    logs = [one for one in plane.etc.parent.rglob("*.log") if one.is_file()]
    assert logs
    assert [one.name for one in logs if secret in one.read_text(errors="replace")] == []


def test_what_fails_leaves_the_file_as_it_was_and_no_other(made: Plane) -> None:
    before, kubectl = made.conf.read_bytes(), (made.bin / "kubectl").read_text()
    made.program("kubectl", "#!/bin/sh\necho 'it went away' >&2; exit 1\n")
    done = made.make()
    made.program("kubectl", kubectl)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "it went away\n")
    assert made.conf.read_bytes() == before
    assert sorted(one.name for one in made.etc.iterdir()) == ["admin.conf", "discovery.conf"]
