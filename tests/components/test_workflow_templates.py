"""What holds of each operation of each cluster, whichever component writes it."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from operationtemplates import templates
from reference import ROOT
from validation.schemas import problems

from generator.components.python_steps import EXIT_MINUTES
from generator.components.reports.described import OF_THE_CLUSTER, TITLE
from generator.components.static import read_text

Object = dict[str, Any]
ALL = templates()
MINUTES = {"s": 1 / 60, "m": 1, "h": 60}
OF_ONE_SHOT = {
    "exit-message": "news of a run that has ended: late news is none, and what becomes of it changes nothing",
    "tell": "as the message of an exit handler",
    "report": "tried twice by the order of the exit handler, for which Argo's own retries have no end",
    "look": "of etcd: told again by the next run, and a node that is down answers no more the second time",
}
"""Steps that Argo does not try again by itself, with the reason."""
SHARED = {
    "backup": ("backup", "backup-to-files"),
    "drill": ("drill", "drill-of-files"),
    "etcd-backup": ("etcd-backup", "etcd-backup-to-files"),
}
"""ServiceAccounts of one operation that goes by several names: a cluster may have both kinds of targets."""


CHOSEN = {
    "accept", "action", "benchmark", "burn-in", "control-plane-outage", "disk", "etags", "history", "how", "member",
    "off", "osds", "room", "switch",
}  # fmt: skip
"""Parameters that scripts compare with words."""


def by_name(template: Object) -> dict[str, Object]:
    return {one["name"]: one for one in template["spec"]["templates"]}


def pods(template: Object) -> Iterator[Object]:
    return (one for one in template["spec"]["templates"] if "steps" not in one)


def longest(template: Object, name: str) -> float:
    """Return for how many minutes a step goes on at most: its pod may wait for a node as long as it may run."""
    found = by_name(template)[name]
    if "steps" in found:
        return sum(max(longest(template, one["template"]) for one in group) for group in found["steps"])
    if "retryStrategy" in found or "timeout" not in found:
        return float("inf")
    figure, unit = re.fullmatch(r"([0-9]+)([smh])", found["timeout"]).groups()  # type: ignore[union-attr]
    return 2 * int(figure) * MINUTES[unit]


def test_all_operations_are_looked_at() -> None:
    """Those of each file of the generator that has one."""
    seen = {(one["spec"]["entrypoint"], one["spec"]["serviceAccountName"]) for one in ALL.values()}
    for file in (ROOT / "generator/components").glob("**/*.yaml"):
        text = file.read_text()
        if "\nkind: WorkflowTemplate\n" in text:
            for one in (each["spec"] for each in yaml.safe_load_all(text) if "kind" in each):
                assert (one["entrypoint"], one["serviceAccountName"]) in seen, file


@pytest.mark.parametrize("name", ALL)
def test_every_field_is_one_of_argo_s(name: str) -> None:
    assert problems(ALL[name]) == []


@pytest.mark.parametrize("name", [name for name, one in ALL.items() if "onExit" in one["spec"]])
def test_exit_handlers_come_to_an_end(name: str) -> None:
    """A workflow's deadline does not count for them, and its locks are held until they have ended."""
    assert longest(ALL[name], ALL[name]["spec"]["onExit"]) <= EXIT_MINUTES


@pytest.mark.parametrize("name", ALL)
def test_every_run_has_an_end_and_a_lock(name: str) -> None:
    spec = ALL[name]["spec"]
    assert 0 < spec["activeDeadlineSeconds"] <= 28 * 86400
    assert spec["synchronization"]["mutexes"]


def locks(of: Object) -> list[str]:
    return [one["name"] for one in of.get("synchronization", {}).get("mutexes", ())]


def taken(template: Object, name: str, held: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each step below one of a template, with the locks that are held while it works, the first one first."""
    found = by_name(template)[name]
    held += tuple(locks(found))
    yield name, held
    for one in (each for group in found.get("steps", ()) for each in group):
        yield from taken(template, one["template"], held)


def held_by_steps() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield each operation on nodes with each of its steps, and the locks that are held while that works."""
    for key, one in ALL.items():
        if "node-operations/" in key:
            steps = taken(one, one["spec"]["entrypoint"], tuple(locks(one["spec"])))
            yield from ((one["metadata"]["name"], step, held) for step, held in steps)


def test_no_lock_of_nodes_is_held_while_data_moves_or_a_machine_is_awaited() -> None:
    """For days, in which no job leaves a sick GPU."""
    long = {"out", "storage", "heal", "osds", "join"}
    found = [(name, step, held) for name, step, held in held_by_steps() if step in long]
    assert {name for name, _, _ in found} == {
        "drive-replacement", "node-expansion", "node-removal", "node-replacement", "osd-replacement",
    }  # fmt: skip
    assert not [one for one in found if "node-disruption" in one[2]]


def test_no_two_runs_wait_for_each_other() -> None:
    """Whoever holds two locks has taken them in one order. Those of a whole workflow are taken at once."""
    orders = set()
    for key, one in ALL.items():
        first = locks(one["spec"])
        for _, held in taken(one, one["spec"]["entrypoint"], tuple(first)):
            later = held[len(first) :]
            assert len({*held}) == len(held), f"{key} waits for itself"
            orders |= {(outer, inner) for inner in later for outer in held[: held.index(inner)]}
    assert ("ceph", "node-disruption") in orders
    assert not [(one, other) for one, other in orders if (other, one) in orders]


@pytest.mark.parametrize("name", ALL)
def test_every_step_is_tried_again_or_not_for_a_reason(name: str) -> None:
    """Never where the script has a verdict, which is exit code 2."""
    for one in pods(ALL[name]):
        if "retryStrategy" not in one:
            assert OF_ONE_SHOT[one["name"]]
            assert "timeout" in one, one["name"]
        else:
            tried = one["retryStrategy"]
            assert 0 < int(tried["limit"]) <= 12
            assert tried["retryPolicy"] == "Always"
            assert "exitCode) != 2" in tried["expression"]
            assert tried["backoff"]["duration"]


def parameters(template: Object) -> list[Object]:
    return list(template["spec"].get("arguments", {}).get("parameters", ()))


@pytest.mark.parametrize("name", ALL)
def test_what_is_one_of_some_words_says_them_and_is_one_by_default(name: str) -> None:
    """Argo's page and `gen workflow submit` take no other. The steps of a run that something else began refuse it."""
    given = parameters(ALL[name])
    assert all(one["value"] in one["enum"] for one in given if "enum" in one and "value" in one)
    words = [one for one in given if not one.get("value", "").isdigit()]  # `room` of a restore is bytes
    assert {one["name"] for one in words if one["name"] in CHOSEN} == {one["name"] for one in given if "enum" in one}
    for one in (one for one in given if "enum" in one and one["name"] != "benchmark"):
        told = {"name": f"{one['name'].upper().replace('-', '_')}_ONE_OF", "value": " ".join(one["enum"])}
        for step in pods(ALL[name]):
            if "/scripts/api.py" in str(step) or "node-operations" in str(ALL[name]["metadata"]["namespace"]):
                assert told in step["container"]["env"] or step["name"] == "exit-message", step["name"]


@pytest.mark.parametrize("name", ALL)
def test_every_operation_says_what_it_does(name: str) -> None:
    """Its description, and where more is told, are read by `tests/docs/test_operations_page.py`."""
    metadata = ALL[name]["metadata"]
    shown = metadata["annotations"][TITLE]
    assert re.fullmatch(rf"{metadata['name']}: [A-Z][^\n.]{{8,70}}", shown), "Argo's page shows it in place of the name"


@pytest.mark.parametrize("name", ALL)
def test_every_parameter_says_what_it_means(name: str) -> None:
    """What the file answers is told apart: people give it seldom."""
    for one in parameters(ALL[name]):
        said = one["description"]
        assert len(said.removeprefix(OF_THE_CLUSTER)) > 15, one["name"]
        assert said.endswith("."), one["name"]
        if one["name"].endswith(("-url", "-secret", "-bucket", "-proxy")) or one["name"] in ("name", "claim", "turn"):
            assert said.startswith(OF_THE_CLUSTER), one["name"]


def test_no_text_is_told_of_what_no_operation_asks() -> None:
    shared = yaml.safe_load(read_text("reports/parameters.yaml"))
    asked = {one["name"] for each in ALL.values() for one in parameters(each) if one["description"] in shared.values()}
    assert asked == {*shared}


def test_every_operation_has_an_account_of_its_own() -> None:
    """Those of ways back of one kind are one operation, for each backup of its own name."""
    users = defaultdict(set)
    for one in ALL.values():
        account = one["spec"]["serviceAccountName"]
        assert account != "default"
        users[one["metadata"]["namespace"], account].add(one["metadata"]["name"])
    for (_, account), names in users.items():
        alike = account.endswith("restore") and all(name.startswith("restore-") for name in names)
        assert len(names) == 1 or alike or names <= {*SHARED[account]}, account
