"""A key of the cluster file that a page names is one."""

import re
from pathlib import Path

import pytest
from test_docs import DOCS, PAGES, SECTIONS, prose

PLACES = [(path, name) for name, paths in DOCS["_places"]().items() for path in paths]
KEYS = {
    re.sub(r"\[\]|\.NAME", "", f"{path}.{key}").removeprefix(".")
    for path, name in PLACES
    for key in SECTIONS[name]["properties"]
}
NAMED = {re.sub(r"\[\]|\.NAME", "", path) for path, _ in PLACES if re.search(r"\[\]$|\.NAME$", path)}
"""Keys below which things have names of their own, as `pools`."""
SPEC = set(SECTIONS["Spec"]["properties"])
GROUPS = (".io", ".com", ".sh")
"""How groups of the API end, some of which begin as a section does."""
OTHERS = {"acceptance.gen", "mlperf.conf"}
"""A bucket, and a file."""
# What a release said stays in its changelog, whatever became of the key.
TODAY = [page for page in PAGES if page.name != "CHANGELOG.md"]


def wrong(text: str) -> set[str]:
    """Return the names in backquotes that begin with a section, with dots, and that are no key: `pools.gpu.scaling` has
    the name of a pool in it.
    """
    named = set(re.findall(r"`([a-z]\w*(?:\[[\w-]*\])?(?:\.[\w<>*-]+(?:\[[\w-]*\])?)+)`", text))
    known = {name for name in named - OTHERS if not name.endswith(GROUPS) and re.split(r"[.\[]", name)[0] in SPEC}
    return {name for name in known if not is_key(re.sub(r"\[[^\]]*\]", "", name).split("."))}


def is_key(parts: list[str]) -> bool:
    without_one = [parts[:at] + parts[at + 1 :] for at in range(1, len(parts) - 1)]
    return ".".join(parts[:-1]) in NAMED or any(".".join(one) in KEYS for one in (parts, *without_one))


@pytest.mark.parametrize("page", TODAY, ids=lambda page: page.name)
def test_keys_that_are_named_are_there(page: Path) -> None:
    assert wrong(prose(page).partition("## Not there yet")[0]) == set()


def test_a_key_that_is_none_would_be_found() -> None:
    assert wrong("`storage.minio.encryption`, `teams[].quota.gpu`") == {"storage.minio.encryption", "teams[].quota.gpu"}
    assert wrong("`pools.gpu-training.scaling`, `backups[].drill`, `storage.k8s.io`, `python.org`") == set()
