"""What somebody types or does in passing, and what is told of it."""

import json
import re
from pathlib import Path

import pytest
from reference import ROOT

from generator.cli import run
from generator.cli.accepted import ACCEPTABLE
from generator.errors import UsageError
from generator.layout.files import joined
from generator.repository.places import find_root
from generator.spec.reader import SIZE

CLUSTER = (ROOT / "clusters/a30-bench/cluster.yaml").read_text()


def test_the_search_for_a_repository_ends_at_the_first_git_folder(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    inner = tmp_path / "inner"
    (inner / "deep").mkdir(parents=True)
    assert find_root(inner / "deep") == tmp_path
    (inner / ".git").mkdir()
    with pytest.raises(UsageError, match="no folder `clusters`"):
        find_root(inner / "deep")
    (inner / "clusters").mkdir()
    assert find_root(inner / "deep") == inner


def test_init_writes_the_schema_that_its_file_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "lab", "-C", str(tmp_path)]) == 0
    schema = "schemas/cluster.schema.json"
    assert (tmp_path / schema).read_bytes() == (ROOT / schema).read_bytes()
    assert run(["render", "-C", str(tmp_path)]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(("code", "words"), [("GEN-POD-999", "is no finding"), ("GEN-NET-001", "cannot be waived")])
def test_a_plain_check_tells_of_waivers_that_waive_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, words: str
) -> None:
    waiver = f"{{code: {code}, reason: it is right for now, owner: a@b, expires: '2099-01-01'}}"
    (tmp_path / "clusters/a30-bench").mkdir(parents=True)
    (tmp_path / "clusters/a30-bench/cluster.yaml").write_text(f"{CLUSTER.rstrip()}\n  waivers: [{waiver}]\n")
    run(["check", "-C", str(tmp_path)])
    out = capsys.readouterr().out
    assert "GEN-WAIVER-" in out
    assert words in out


def test_each_code_that_can_be_accepted_may_be_written_in_a_waiver() -> None:
    schema = json.loads((ROOT / "schemas/cluster.schema.json").read_text())
    pattern = schema["$defs"]["Waiver"]["properties"]["code"]["pattern"]
    assert [code for code in sorted(ACCEPTABLE) if not re.search(pattern, code)] == []


def test_two_writers_of_one_path_are_refused() -> None:
    assert joined({"a": b"1"}, {"b": b"2"}, {"a": b"1"}) == {"a": b"1", "b": b"2"}
    with pytest.raises(UsageError, match="a: two different files would have this path"):
        joined({"a": b"1"}, {"a": b"2"})


def test_a_release_that_is_called_as_its_folders_kustomization_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    adopt = "  components:\n    calico: {adopt: {release: kustomization, namespace: tigera-operator}}\n"
    (tmp_path / "clusters/a30-bench").mkdir(parents=True)
    text = CLUSTER.replace("  components:\n", adopt, 1) if "  components:\n" in CLUSTER else CLUSTER + adopt
    (tmp_path / "clusters/a30-bench/cluster.yaml").write_text(text)
    assert run(["render", "-C", str(tmp_path)]) == 1
    assert "error GEN-COMP-002:" in capsys.readouterr().out
    assert not (tmp_path / "overlays").exists()


def init(folder: Path) -> str:
    assert run(["init", "new", "-C", str(folder)]) == 0
    return (folder / "clusters/new/cluster.yaml").read_text()


def test_init_leaves_a_neighbour_alone_that_cannot_be_read(tmp_path: Path) -> None:
    for name, text in (("a", ""), ("b", "10.10.")):
        (tmp_path / "clusters" / name).mkdir(parents=True)
        (tmp_path / "clusters" / name / "cluster.yaml").write_text(text)
    (tmp_path / "clusters/a/cluster.yaml").unlink()
    (tmp_path / "clusters/a/cluster.yaml").symlink_to("/proc/self/mem")
    assert "10.11.0.11" in init(tmp_path)


def test_init_reads_no_more_of_a_neighbour_than_a_cluster_file_may_have(tmp_path: Path) -> None:
    (tmp_path / "clusters/a").mkdir(parents=True)
    (tmp_path / "clusters/a/cluster.yaml").write_bytes(b"10.10.".rjust(SIZE) + b" 10.11.")
    assert "10.11.0.11" in init(tmp_path)
