"""Where findings stand in files."""

from pathlib import Path

import pytest
from msgspec import structs

from generator.build.objects import Object
from generator.repository.locate import Locator

TEXT = """\
# A comment.
---
apiVersion: v1
kind: Service
metadata: {name: x, namespace: a}
spec:
  ports:
    - port: 80
--- # another
apiVersion: v1
kind: Service
metadata:
  name: x
  namespace: b
spec:
  ports:
    - port: 81
---
kind: List
apiVersion: v1
items:
  - {apiVersion: v1, kind: Pod, metadata: {name: y}, spec: {}}
"""


def place(folder: Path, kind: str, name: str, space: str, *at: str | int) -> tuple[int, int, str]:
    (folder / "a.yaml").write_text(TEXT)
    manifest = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": space}}
    (found,) = Locator((), folder).locate([Object(manifest, "", "a.yaml").finding("", *at)])
    return found.at.line, found.at.column, found.line


@pytest.mark.parametrize(
    ("which", "at", "where"),
    [
        (("Service", "x", "a"), ("spec", "ports", 0, "port"), (8, 13, "    - port: 80")),
        (("Service", "x", "b"), ("spec", "ports", 0, "port"), (17, 13, "    - port: 81")),
        (("Service", "x", "b"), ("spec", "ports", 0, "targetPort"), (17, 7, "    - port: 81")),
        (("Service", "x", "b"), ("spec", "selector"), (15, 1, "spec:")),
        (("Service", "x", "b"), (), (10, 1, "apiVersion: v1")),
        (("Pod", "y", ""), ("metadata", "name"), (22, 50, TEXT.splitlines()[21])),
        (("Pod", "z", ""), ("metadata", "name"), (1, 1, "")),
    ],
)
def test_a_value_is_found_in_its_document(
    tmp_path: Path, which: tuple[str, str, str], at: tuple[str | int, ...], where: tuple[int, int, str]
) -> None:
    """One that is not in the file is shown by what is nearest; an object that is not, by the file."""
    assert place(tmp_path, *which, *at) == where


def test_a_file_that_is_not_there_or_no_yaml_has_a_beginning(tmp_path: Path) -> None:
    one = Object({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}, "", "absent.yaml")
    (tmp_path / "wrong.yaml").write_bytes(b"\xff: [\n")
    wrong = Object(one.manifest, "", "wrong.yaml")
    for each in (one, wrong):
        (found,) = Locator((), tmp_path).locate([each.finding("", "spec")])
        assert (found.at.line, found.at.column, found.line) == (1, 1, "")


def test_a_password_that_is_a_word_hides_itself_and_not_the_names_of_fields(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData:\n  password: password\n  other: admin\n"
    )
    one = Object({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}, "", "a.yaml")
    told = {"password": "key password has a value", "other": "ADMIN_USER is not admin, nor password"}
    found = [structs.replace(one.finding(text, "stringData", key), secret=True) for key, text in told.items()]
    own, other = Locator((), tmp_path).locate(found)
    assert own.finding.message == "key password has a value"
    assert other.finding.message == "ADMIN_USER is not ***, nor ***"
    assert "admin" not in other.line
    assert own.line == "  ********: ********"
