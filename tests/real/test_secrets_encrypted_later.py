"""A cluster that comes to encrypt its Secrets: what an API server reads that has no key yet, or no longer, of what one
wrote that has. They are started on one etcd, one after the other.
"""

import base64
import re
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from apiserver import start
from reference import ROOT

from generator.errors import UsageError
from generator.live import apiserver

pytestmark = pytest.mark.real

KEY = base64.b64encode(bytes(32)).decode()
PAGE = (ROOT / "docs" / "encryption.md").read_text()
SECRETS = "/api/v1/namespaces/default/secrets"


def providers(beginning: str) -> list[dict[str, Any]]:
    """Return what the page has people write, by its first provider."""
    found = re.search(rf"^   providers:\n     - {beginning}:.*\n(     - .*\n)+", PAGE, re.MULTILINE)
    assert found, beginning
    written: list[dict[str, Any]] = yaml.safe_load(dedent(found[0]).replace("secret: ...", f"secret: {KEY}"))[
        "providers"
    ]
    return written


def configuration(folder: Path, written: list[dict[str, Any]]) -> str:
    """Write a file of keys, and return the argument that names it."""
    file = folder / "encryption.yaml"
    head = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration"}
    file.write_text(yaml.safe_dump(head | {"resources": [{"resources": ["secrets"], "providers": written}]}))
    return f"--encryption-provider-config={file}"


def secret(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}}


def seen(folder: Path, *flags: str, write: str = "") -> tuple[int, set[str]]:
    """Return what an API server answers to who lists Secrets, and their names; before, write one."""
    with start(folder, *flags) as api:
        if write:
            assert api.create(secret(write), dry=False) == (201, "")
        status, found = api.request("GET", SECRETS)
        return status, {one["metadata"]["name"] for one in found.get("items", ())}


def test_secrets_are_readable_by_all_while_one_after_the_other_gets_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity, key = providers("identity")
    beside = configuration(tmp_path, [identity, key])
    assert seen(tmp_path, beside, write="early") == (200, {"early"})
    assert seen(tmp_path) == (200, {"early"}), "who has no argument yet reads what others write meanwhile"
    first = configuration(tmp_path, [key, identity])
    assert seen(tmp_path, first, write="late") == (200, {"early", "late"})
    beside = configuration(tmp_path, [identity, key])
    assert seen(tmp_path, beside) == (200, {"early", "late"}), "who has the key second reads what is encrypted"
    # Who has no key yet is not even ready, once the first one encrypts.
    monkeypatch.setattr(apiserver, "tries", partial(apiserver.tries, 15))
    with pytest.raises(UsageError, match="tried to read encrypted data"):
        seen(tmp_path)
