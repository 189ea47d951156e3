"""No alert without a case in which it fires and one in which it does not, before Prometheus' own test program. Which
these are stands in the tables of the tests that ask it: what is read here runs without the program.
"""

import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import test_alertmanager
import test_alerts_fire
import test_gpu_use
import test_log_alerts
import test_prometheus_rules
import test_volume_alerts
from machineplayed import by_timer
from msgspec import structs
from reference import ROOT, load

from generator.components import compose
from generator.model.cluster import Cluster
from generator.model.monitoring import Prometheus

JUDGING = (test_alertmanager, test_gpu_use, test_log_alerts, test_prometheus_rules, test_volume_alerts)
WRITTEN = re.compile(r'\b(?:alert|silent|unmeasured)\(\s*"(\w+)"|\balert"?: "?([A-Z]\w+)')
NEXT = re.compile(
    r"`|\b([Ss]ee|look at|[Aa]dd|[Aa]sk|delete|reset|change[d]?|bring|begin|forget|[Ii]ts page of targets)\b"
)
"""A command, a place, or what to do in a word."""
PLACE = re.compile(r"see (docs/[\w-]+\.md), ([A-Z][\w ]+)")


def tables() -> Iterator[list[set[str]]]:
    """Yield for each test which alerts fire in its cases. In each of them it asks for all that fire in any."""
    for cases, _ in test_alerts_fire.CASES.values():
        yield [{*case.fires} for case in cases]
    for module in JUDGING:
        for test in vars(module).values():
            if isinstance(test, FunctionType):
                marks = (one.args for one in getattr(test, "pytestmark", ()) if one.name == "parametrize")
                for names, cases, *_ in marks:
                    if "fires" in names:
                        place = names.index("fires")
                        yield [{*getattr(case, "values", case)[place]} for case in cases]


def with_all_alerts() -> Iterator[Cluster]:
    """Yield clusters that have all that is alerted of, and no Zabbix that tells of it instead."""
    for name in ("ml50", "a30-bench", "gpu-serving"):
        cluster = by_timer(load(name))
        prometheus = cluster.monitoring.prometheus or Prometheus()
        monitoring = structs.replace(cluster.monitoring, prometheus=prometheus, zabbix=None)
        yield structs.replace(cluster, monitoring=monitoring, volume_backups=(test_volume_alerts.NIGHTLY,))


def rendered() -> set[str]:
    """Return the alerts of these clusters."""
    return {rule["alert"] for rule in rules()}


def messages() -> dict[str, str]:
    """Return what is told of each alert that somebody is told of."""
    return {
        rule["alert"]: " ".join(rule["annotations"].values())
        for rule in rules()
        if rule["labels"]["severity"] != "none"
    }


def rules() -> Iterator[Any]:
    made = (one for cluster in with_all_alerts() for part in compose(cluster) for one in (*part.base, *part.objects))
    groups = (each for one in made if one["kind"] == "PrometheusRule" for each in one["spec"]["groups"])
    return (rule for one in groups for rule in one["rules"] if "alert" in rule)


def test_each_alert_says_the_next_step() -> None:
    assert [text for text in messages().values() if not NEXT.search(text)] == []


def test_pages_that_alerts_name_have_that_part() -> None:
    named = {place for text in messages().values() for place in PLACE.findall(text)}
    assert len(named) > 2
    for page, part in named:
        assert f"\n## {part}\n" in (ROOT / page).read_text(encoding="utf-8")


def test_each_alert_that_is_written_down_is_one_of_these_clusters() -> None:
    """Where this fails, a cluster here lacks what the alert is of."""
    files = (one for one in (ROOT / "generator/components").rglob("*") if one.suffix in {".py", ".yaml"})
    written = {first or second for file in files for first, second in WRITTEN.findall(file.read_text())}
    assert len(written) > 50
    assert written <= rendered()


def test_each_alert_fires_in_one_case_and_not_in_another() -> None:
    judged = [({*set().union(*cases)}, cases) for cases in tables()]
    fire = {name for names, _ in judged for name in names}
    silent = {name for names, cases in judged for name in names if any(name not in case for case in cases)}
    assert rendered() - fire == set(), "no case fires"
    assert rendered() - silent == set(), "no case is silent"
    assert fire <= rendered(), "no cluster has it"
