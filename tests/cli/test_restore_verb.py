"""`gen restore` on a fake of an API server: what it refuses, tells, asks and begins. The restore itself is tried on
real servers.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from livecluster import LiveCluster, living
from reference import ROOT, load

from generator.cli import run
from generator.components import compose
from generator.live.identity import record

CLUSTER = load("ml50")
Gen = Callable[..., tuple[int, str, str]]


@pytest.fixture
def there(tmp_path: Path) -> Iterator[LiveCluster]:
    (component,) = [one for one in compose(CLUSTER) if one.name == "workflows"]
    templates = [one for each in component.operations for one in each.templates]
    with living(tmp_path, record(CLUSTER), *templates, *component.objects) as (cluster, _):
        yield cluster


@pytest.fixture
def gen(there: LiveCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Gen:
    assert there.get("WorkflowTemplate", "restore-datasets")

    def call(*words: str) -> tuple[int, str, str]:
        where = ["--cluster", "ml50", "--kubeconfig", str(tmp_path / "kubeconfig"), "-C", str(ROOT)]
        code = run(["restore", *words, *where])
        return (code, *capsys.readouterr())

    return call


def ending(there: LiveCluster, phase: str) -> None:
    """Let each run end at once."""

    def end(one: dict[str, Any]) -> None:
        if one["kind"] == "Workflow":
            times = {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:09Z"}
            one.setdefault("status", {"phase": phase, **times})

    there.reacts.append(end)


def parameters(there: LiveCluster) -> dict[str, str]:
    (one,) = [each for each in there.objects.values() if each["kind"] == "Workflow"]
    assert one["spec"]["workflowTemplateRef"] == {"name": "restore-datasets"}
    return {each["name"]: each["value"] for each in one["spec"]["arguments"]["parameters"]}


def test_it_tells_begins_watches_and_names_the_next_command(gen: Gen, there: LiveCluster) -> None:
    ending(there, "Succeeded")
    code, out, _ = gen("datasets", "--at", "2026-11-20T09:00:00+09:00", "--into", "look-here", "--yes")
    assert code == 0, out
    given = parameters(there)
    assert (given["into"], given["at"], given["switch"]) == ("look-here", "2026-11-20T00:00:00Z", "none")
    assert "datasets stays as it is" in out
    again = "gen restore datasets --cluster ml50 --at 2026-11-20T00:00:00Z --into look-here --switch missing"
    assert f"next: look at look-here; then {again}" in out


def test_the_newest_is_meant_without_a_time(gen: Gen, there: LiveCluster) -> None:
    ending(there, "Succeeded")
    _, out, _ = gen("datasets", "--yes", "--switch", "all")
    given = parameters(there)
    assert given["into"] == f"datasets-restored-{given['at'][:10].replace('-', '')}"
    assert given["switch"] == "all"
    assert "what was written to them since is lost; nothing is deleted" in out
    assert "expire" not in out


def test_a_failure_is_its_exit_code(gen: Gen, there: LiveCluster) -> None:
    ending(there, "Failed")
    code, out, _ = gen("datasets", "--yes")
    assert code == 1
    assert "next: gen workflow logs restore-datasets-" in out


def test_a_time_beyond_what_is_kept_is_noted(gen: Gen, there: LiveCluster) -> None:
    ending(there, "Succeeded")
    _, out, _ = gen("datasets", "--at", "2020-01-01", "--yes")
    assert "datasets-backup keeps what was overwritten for 30 days: of that time it may hold less" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("dataset",), "ml50 has no backup of dataset; did you mean datasets"),
        (("datasets", "--at", "yesterday"), "--at yesterday: say a time as 2026-11-20T00:00:00Z"),
        (("datasets", "--at", "2126-11-20"), "that time has not come yet"),
        (("datasets", "--into", "datasets"), "that is the live bucket"),
        (("datasets", "--into", "Data_sets"), "`Data_sets` cannot be the name of a bucket"),
        (("datasets",), "nobody is there to be asked: say --yes"),
        (("datasets", "--switch", "some"), "'some' is not one of"),
    ],
)
def test_wrong_words_get_one_sentence_and_nothing_begins(
    gen: Gen, there: LiveCluster, words: tuple[str, ...], said: str
) -> None:
    code, out, err = gen(*words)
    assert (code, said in err) == (2, True), out + err
    assert there.writes == []


def test_a_cluster_that_was_not_synced_since_is_told(gen: Gen, there: LiveCluster) -> None:
    for path in [path for path, one in there.objects.items() if one["metadata"]["name"] == "restore-datasets"]:
        del there.objects[path]
    code, _, err = gen("datasets", "--yes")
    assert code == 2
    assert "the cluster has no operation restore-datasets" in err


def test_another_cluster_is_refused(gen: Gen, there: LiveCluster) -> None:
    there.get("ConfigMap", "gen")["data"]["cluster"] = "lab"
    assert "is the cluster lab, not ml50" in gen("datasets", "--yes")[2]
    assert there.writes == []
