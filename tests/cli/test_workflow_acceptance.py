"""`gen workflow` with the operation `acceptance`, on a fake of an API server: what it can be told, and must be."""

from collections.abc import Callable, Iterator
from pathlib import Path

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
    (component,) = [one for one in compose(CLUSTER) if one.name == "acceptance"]
    templates = [one for each in component.operations for one in each.templates]
    with living(tmp_path, record(CLUSTER), *templates) as (cluster, _):
        yield cluster


@pytest.fixture
def gen(there: LiveCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Gen:
    assert there.get("WorkflowTemplate", "acceptance")

    def call(*words: str) -> tuple[int, str, str]:
        where = ["--cluster", "ml50", "--kubeconfig", str(tmp_path / "kubeconfig"), "-C", str(ROOT)]
        code = run(["workflow", *words, *where])
        return (code, *capsys.readouterr())

    return call


def test_what_it_can_be_told_is_shown(gen: Gen) -> None:
    code, out, _ = gen("show", "acceptance")
    assert code == 0
    for one in ("pool", "tests", "nodes", "thresholds", "wait-seconds", "try-seconds"):
        assert one in out


def test_without_a_pool_nothing_begins(gen: Gen, there: LiveCluster) -> None:
    for words, told in (((), "pool"), (("-p", "pool=gpu-training", "-p", "test=nccl"), "tests")):
        code, _, err = gen("submit", "acceptance", *words)
        assert (code, told in err) == (2, True), err
    assert not [one for one in there.objects.values() if one["kind"] == "Workflow"]
    assert gen("submit", "acceptance", "-p", "pool=gpu-training")[0] == 0
    (begun,) = [one for one in there.objects.values() if one["kind"] == "Workflow"]
    assert (begun["metadata"]["namespace"], begun["spec"]["workflowTemplateRef"]) == (
        "acceptance",
        {"name": "acceptance"},
    )
