"""Nothing that a cluster says breaks a table, begins a line of its own, or commands a terminal."""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from livecluster import LiveCluster, living
from nasty import NASTY, texts
from reference import ROOT
from test_status import CLUSTER, made, resource

from generator.cli import bootstrap, run, sync
from generator.cli.terminal import say
from generator.live.applications import application
from generator.live.bootstrap.step import Item, State, Step
from generator.live.bootstrap.waves import LateError, watch
from generator.live.drift.report import Drift, DriftReport, FieldDrift
from generator.live.drift.text import lines
from generator.live.identity import record
from generator.live.running import RunningCluster
from generator.live.sync.arrival import Stage, stage
from generator.live.sync.progress import Progress

Object = dict[str, Any]
STARTS = "INJECTED"
"""With this every line of a text begins: none of them may begin a line of what is printed."""
LONGEST = 1100


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, LiveCluster, RunningCluster]]:
    folder = tmp_path_factory.mktemp("hostile")
    with living(folder, record(CLUSTER)) as (cluster, running):
        yield folder, cluster, running


def hostile(text: str) -> str:
    return "".join(f"\n{STARTS}{line}\r{STARTS}\t\x1b]0;x\x07\ufdd1" for line in [*text.split("\n"), "x" * 3000])


def unwell(name: str, text: str) -> Object:
    """Return an Application all of whose words are a text."""
    one = made(name, 1)
    said = {"status": "Degraded", "message": text}
    one["status"] |= {
        "health": said,
        "sync": {"status": text, "revision": text},
        "conditions": [{"type": "ComparisonError", "message": text}, {"type": text, "message": text}],
        "resources": [{**resource("Job", text), "health": said, "status": "OutOfSync"}, resource(text, text)],
        "operationState": {
            "phase": "Failed",
            "message": text,
            "syncResult": {
                "revision": text,
                "resources": [{"kind": text, "name": text, "status": "SyncFailed", "message": text}],
            },
        },
        "history": [{"revision": text}],
    }
    return one


def fill(cluster: LiveCluster, text: str) -> None:
    """Have a cluster that says a text wherever it can."""
    meta = {"name": "p", "namespace": "shop", "ownerReferences": [{"kind": text, "name": text}]}
    waiting = [{"name": text, "state": {"waiting": {"reason": "ErrImagePull", "message": text}}}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "status": {"containerStatuses": waiting}}
    about = {"kind": "Job", "name": text}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "shop"}, "type": "Warning"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": CLUSTER.machines[0].name}}
    unready = [{"type": "Ready", "status": "False", "reason": text, "message": text}]
    for one in (
        unwell("root", text),
        unwell("kueue", text),
        pod,
        {**event, "reason": "FailedCreate", "message": text, "involvedObject": about},
        {**node, "status": {"conditions": unready}},
    ):
        cluster.add(deepcopy(one))
    cluster.refuses["GET .*/workflows"] = (403, "Forbidden", text)


def check(printed: str) -> None:
    """See that all of it can be seen, and that no text of the cluster begins a line."""
    for line in printed.split("\n"):
        assert line.isprintable(), ascii(line)
        assert not line.lstrip().startswith(STARTS), line
        assert len(line) < LONGEST


def nasty(*, most: int) -> Callable[[Any], Any]:
    def decorate(test: Any) -> Any:
        fixture = HealthCheck.function_scoped_fixture
        without = (
            Phase.explicit,
            Phase.generate,
        )
        found = settings(max_examples=most, deadline=None, suppress_health_check=[fixture], phases=without)
        return found(given(texts(NASTY))(test))

    return decorate


@nasty(most=8)
def test_a_status_is_a_table_whatever_the_cluster_says(
    there: tuple[Path, LiveCluster, RunningCluster], capsys: pytest.CaptureFixture[str], text: str
) -> None:
    folder, cluster, _ = there
    fill(cluster, hostile(text))
    words = ["status", "--cluster", "a30-bench", "--kubeconfig", str(folder / "kubeconfig"), "-C", str(ROOT)]
    assert run(words) == 1
    out, err = capsys.readouterr()
    check(out)
    check(err)
    table = out.split("\n\n")[1].split("\n")
    health, revision = (table[0].index(head) for head in ("health", "revision"))
    assert len(table) > 10
    assert {row[health - 2 : health] + row[revision - 2 : revision].ljust(2) for row in table} == {"    "}


@nasty(most=8)
def test_a_watch_of_the_waves_has_a_line_for_each(
    there: tuple[Path, LiveCluster, RunningCluster], capsys: pytest.CaptureFixture[str], text: str
) -> None:
    _, cluster, running = there
    fill(cluster, hostile(text))
    with pytest.raises(LateError) as late:
        watch(running, {"kueue"}, lambda line: bootstrap._tell("waves", line, err=False), 0.0)
    say(str(late.value))
    check(capsys.readouterr().out)


@nasty(most=30)
def test_steps_and_progress_have_a_line_for_each(capsys: pytest.CaptureFixture[str], text: str) -> None:
    bad = hostile(text)
    step = Step(name="nodes", items=(Item(State.TO_DO, bad),))
    for item in step.items:
        bootstrap._say(item.state, step.name, item.what)
    one = application(unwell("kueue", bad))
    show = sync._Shower(watched=True)
    for said in (stage(one, "b" * 40, newest=True)[1], bad):
        show(Progress(name=bad, wave=1, old="", stage=Stage.FAILED, said=said))
    out, err = capsys.readouterr()
    check(out)
    check(re.sub(r"^\S+  wave", "wave", err, flags=re.MULTILINE))
    assert err.count("\n") == 2


@nasty(most=30)
def test_drift_has_a_line_for_each(capsys: pytest.CaptureFixture[str], text: str) -> None:
    bad = hostile(text)
    field = FieldDrift(field=bad, git=bad, cluster=bad, by=bad)
    one = Drift(how="differs", component=bad, name=bad, why=bad, command=bad, fields=(field,))
    found = DriftReport(
        cluster="a", host="b", revisions=(bad,), objects=1, drifts=(one,), programs={(bad, bad): 1},
        namespaces=(bad,), unread=(bad,), notes=(bad,),
    )  # fmt: skip
    for line in lines(found):
        say(line)
    check(capsys.readouterr().out)
