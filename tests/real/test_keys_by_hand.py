"""Keys that a person gives by the commands of `docs/operations.md`, on a real API server: nothing is given where a part
of it is missing.
"""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from documented import as_administrator
from reference import ROOT

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

PAGE = (ROOT / "docs" / "operations.md").read_text()
Types = Callable[[str], str]


def block(words: str) -> str:
    """Return the commands that hold words, of those within a numbered list."""
    found = [text for text in re.findall(r"^   ```sh\n(.*?)^   ```", PAGE, re.DOTALL | re.MULTILINE) if words in text]
    assert len(found) == 1
    return dedent(found[0])


@pytest.fixture
def types(api: "ApiServer", tmp_path: Path) -> Types:
    """Return what somebody does who types commands, and is told what they said."""
    api.kubeconfig(tmp_path / "admin.conf")
    (tmp_path / "bin").mkdir()

    def typed(words: str) -> str:
        done = as_administrator(block(words), tmp_path / "admin.conf", tmp_path, tmp_path / "bin")
        return done.stdout + done.stderr

    return typed


def certificate(folder: Path, name: str) -> None:
    words = f"openssl req -x509 -newkey rsa:2048 -nodes -subj /CN={name} -out {name}.crt -keyout {name}.key"
    subprocess.run(words.split(), cwd=folder, check=True, capture_output=True)


def test_a_ca_is_given_whole_or_not_at_all(api: "ApiServer", types: Types, tmp_path: Path) -> None:
    api.namespace("cert-manager")
    metadata = {"name": "site-ca", "namespace": "cert-manager"}
    data = {"tls.crt": "Zm9ybWVy", "tls.key": "Zm9ybWVy"}
    api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls", "data": data})
    path = "/api/v1/namespaces/cert-manager/secrets/site-ca"
    try:
        assert "no such file" in types("new-ca.crt").lower()
        assert api.request("GET", path)[1]["data"] == data
        certificate(tmp_path, "new-ca")
        certificate(tmp_path, "other")
        kept = (tmp_path / "new-ca.key").read_bytes()
        (tmp_path / "new-ca.key").write_bytes((tmp_path / "other.key").read_bytes())
        assert "does not match" in types("new-ca.crt")
        assert api.request("GET", path)[1]["data"] == data
        (tmp_path / "new-ca.key").write_bytes(kept)
        assert "patched" in types("new-ca.crt")
        assert set(api.request("GET", path)[1]["data"].values()).isdisjoint(data.values())
    finally:
        api.request("DELETE", path)


def test_a_user_gets_another_key_only_where_one_could_be_made(api: "ApiServer", types: Types, tmp_path: Path) -> None:
    api.namespace("minio")
    metadata = {"name": "minio-user-backup-writer", "namespace": "minio"}
    data = {"accessKey": "Zm9ybWVy", "secretKey": "c2VjcmV0"}
    api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    path = "/api/v1/namespaces/minio/secrets/minio-user-backup-writer"
    program = tmp_path / "bin" / "openssl"
    try:
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
        types("openssl rand")
        assert api.request("GET", path)[1]["data"] == data
        program.unlink()
        assert "patched" in types("openssl rand")
        given = api.request("GET", path)[1]["data"]
        assert given["formerAccessKey"] == data["accessKey"]
        assert len({*given.values(), *data.values()}) == 4
    finally:
        api.request("DELETE", path)
