"""`--output gitlab` in GitLab's documented form: docs.gitlab.com/ci/testing/code_quality, "Code Quality report format".

A list of objects with a description, a check_name, a fingerprint that is unique, a severity of five, location.path
relative to the repository and without `./`, and location.lines.begin.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from generator.cli import run
from generator.cli.gitlab import Entry, show_report
from generator.model.finding import Severity

ROOT = Path(__file__).parents[2]
FILE = "clusters/a30-bench/cluster.yaml"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / FILE).parent.mkdir(parents=True)
    shutil.copy(ROOT / FILE, tmp_path / FILE)
    return tmp_path


def edit(place: Path, old: str, new: str) -> None:
    text = (place / FILE).read_text()
    assert old in text
    (place / FILE).write_text(text.replace(old, new))


def report(place: Path, captured: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, Any]]]:
    captured.readouterr()
    code = run([words[0], "-C", str(place), *words[1:], "--output", "gitlab"])
    out = captured.readouterr().out
    assert not out.startswith("\ufeff"), "GitLab takes no byte order mark"
    found = json.loads(out)
    for one in found:
        assert set(one) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert all(isinstance(one[key], str) and one[key] for key in one if key != "location")
        assert one["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert set(one["location"]) == {"path", "lines"}
        assert (place / one["location"]["path"]).parent.exists()
        assert not one["location"]["path"].startswith(("/", "./"))
        begin = one["location"]["lines"]["begin"]
        assert isinstance(begin, int)
        assert begin >= 1
    assert len({one["fingerprint"] for one in found}) == len(found)
    return code, found


def test_nothing_wrong_is_an_empty_list(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(place, capsys, "check") == (0, [])


def test_findings_stand_on_their_lines(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(place, "podCIDR: 10.244.0.0/16", "podCIDR: 10.96.0.0/16")
    code, found = report(place, capsys, "check")
    assert code == 1
    lines = (place / FILE).read_text().split("\n")
    one = next(each for each in found if "10.96.0.0/16" in each["description"])
    assert one["check_name"].startswith("GEN-")
    assert one["severity"] == "major"
    assert "10.96.0.0" in lines[one["location"]["lines"]["begin"] - 1]


def test_a_fingerprint_outlives_a_move_of_lines(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(place, "podCIDR: 10.244.0.0/16", "podCIDR: 10.96.0.0/16")
    _, before = report(place, capsys, "check")
    edit(place, "  kubernetes:\n", "  # A remark.\n  kubernetes:\n")
    _, after = report(place, capsys, "check")
    assert [one["fingerprint"] for one in before] == [one["fingerprint"] for one in after]
    assert [one["location"] for one in before] != [one["location"] for one in after]


def test_equal_findings_stay_apart(capsys: pytest.CaptureFixture[str]) -> None:
    show_report([Entry("GEN-A-001", "wrong", Severity.WARNING, FILE, line) for line in (3, 9)])
    one, other = json.loads(capsys.readouterr().out)
    assert one["fingerprint"] != other["fingerprint"]
    assert one["severity"] == "minor"


def test_a_render_that_is_not_committed_is_reported_by_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(place, capsys, "render")[0] == 0
    edit(place, "retention: 62d", "retention: 20d")
    code, found = report(place, capsys, "render", "--check")
    assert code == 1
    assert {one["check_name"] for one in found} == {"stale"}
    assert any("kube-prometheus-stack" in one["location"]["path"] for one in found)


def test_built_objects_are_reported_as_well(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(place, capsys, "render")
    custom = place / "overlays/a30-bench/queues/custom"
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: nowhere}\nspec: {ports: [{port: 99999}]}\n"
    (custom / "more.yaml").write_text(text)
    (custom / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [more.yaml]\n"
    )
    code, found = report(place, capsys, "check", "--rendered")
    assert code == 1
    assert any("overlays/a30-bench/queues" in one["location"]["path"] for one in found)
