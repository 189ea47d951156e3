"""`health-report`: where it is, what its pods may and reach, and when it begins by itself."""

import ast
import json
import re
from typing import Any

import pytest
from healthsite import FACTS
from msgspec import structs
from reference import load, without_operations
from validation.schemas import problems

from generator.components import compose
from generator.components.component import Component, Manifest
from generator.components.health_report import DEFINITION, LABELS, NAME, NAMESPACE, health_report
from generator.components.health_report.facts import facts
from generator.components.health_report.template import schedule, workflow_template
from generator.components.static import read_objects, read_text
from generator.model.backup import Drill
from generator.model.cluster import Cluster
from generator.model.monitoring import Operations


def telling(name: str = "ml50", **settings: Any) -> Cluster:
    cluster = load(name)
    told = Operations(**{"via": "slack", **settings})
    return structs.replace(cluster, monitoring=structs.replace(cluster.monitoring, operations=told))


def of_kind(made: Component, kind: str) -> list[Manifest]:
    return [one for one in made.objects if one["kind"] == kind]


def made(cluster: Cluster) -> Component:
    return next(one for one in compose(cluster) if one.name == NAME)


def test_it_is_where_operations_are() -> None:
    assert DEFINITION.wanted(load("ml50"))
    assert DEFINITION.wanted(load("a30-bench"))
    assert not DEFINITION.wanted(without_operations(load("ml50")))
    assert "argo-workflows" in made(load("ml50")).needs


def test_objects_are_accepted() -> None:
    """Where it is told. Cilium's kind is judged where all shut pods are."""
    one = made(telling())
    judged = [each for each in (*one.base, *one.objects) if not each["apiVersion"].startswith("cilium.io")]
    assert [each for each in judged if problems(each)] == []


def test_it_reads_and_writes_only_its_own_config_map() -> None:
    one = health_report(load("ml50"))
    writes = [
        (role["metadata"].get("namespace"), rule["resources"], rule["verbs"], rule.get("resourceNames"))
        for role in (*of_kind(one, "ClusterRole"), *of_kind(one, "Role"))
        for rule in role["rules"]
        if not {*rule["verbs"]} <= {"get", "list"}
    ]
    assert writes == [
        (NAMESPACE, ["workflowtaskresults"], ["create", "patch"], None),
        (NAMESPACE, ["configmaps"], ["create"], None),
        (NAMESPACE, ["configmaps"], ["get", "patch"], [NAME]),
    ]
    assert "secrets" not in json.dumps([of_kind(one, "ClusterRole"), of_kind(one, "Role")])
    without = structs.replace(load("ml50"), storage=structs.replace(load("ml50").storage, ceph=None))
    assert "ceph.rook.io" not in json.dumps(health_report(without).objects)


def test_who_reads_reaches_nothing_outside_and_who_tells_reads_nothing() -> None:
    look, tell = workflow_template(telling())["spec"]["templates"][1:]
    volumes = json.dumps(look) + json.dumps(workflow_template(telling())["spec"]["volumes"])
    assert "operation-report" not in volumes, "the webhook's address is not for who reads the cluster"
    assert tell["serviceAccountName"] == "operation-report"
    assert tell["metadata"]["labels"]["app.kubernetes.io/name"] != LABELS["app.kubernetes.io/name"]
    assert [one["name"] for one in tell["container"]["env"]] == ["TEXT"]
    policy, let_in = of_kind(health_report(load("a30-bench")), "NetworkPolicy")
    assert (let_in["metadata"]["namespace"], let_in["spec"]["policyTypes"]) == ("monitoring", ["Ingress"])
    reached = [rule.get("to") for rule in policy["spec"]["egress"]]
    assert reached[0] == [{"ipBlock": {"cidr": "129.254.202.251/32"}}]
    assert reached[1] is None, "names"
    assert reached[2][0]["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "monitoring"}
    assert len(reached) == 3
    assert "ingress" not in policy["spec"]


def test_nobody_is_told_where_no_messenger_is_named() -> None:
    def steps(cluster: Cluster) -> list[str]:
        order, *rest = workflow_template(cluster)["spec"]["templates"]
        assert [one["name"] for one in rest] == [step[0]["template"] for step in order["steps"]]
        return [one["name"] for one in rest]

    assert steps(load("ml50")) == ["look"]
    assert steps(telling()) == ["look", "tell"]
    secrets = {(one.namespace, one.name) for each in compose(telling()) for one in each.secrets}
    assert (NAMESPACE, "operation-report") in secrets, "the tell step would find no address"


def test_it_begins_on_mondays_by_the_clock_of_the_site() -> None:
    spec = schedule(load("ml50"))["spec"]
    assert (spec["schedules"], spec["timezone"], spec["concurrencyPolicy"]) == (["0 7 * * 1"], "Asia/Seoul", "Forbid")


def test_a_run_ends_and_no_other_is_beside_it() -> None:
    spec = workflow_template(load("ml50"))["spec"]
    assert spec["activeDeadlineSeconds"] == 3600
    assert spec["synchronization"]["mutexes"] == [{"name": NAME}]


def test_the_script_reads_what_its_pod_is_told() -> None:
    (env,) = (one["container"]["env"] for one in workflow_template(load("ml50"))["spec"]["templates"][1:])
    given = {one["name"]: one["value"] for one in env}
    text = read_text("health_report/health_report.py.txt")
    assert {*re.findall(r'os\.environ(?:\.get\(|\[)"(\w+)"', text)} - {"FACTS"} == given.keys()
    assert given["PROMETHEUS"] == "", "there is none"
    watched = workflow_template(load("a30-bench"))["spec"]["templates"][1]["container"]["env"][0]["value"]
    assert watched == "http://kube-prometheus-stack-prometheus.monitoring.svc:9090"


def test_facts_have_the_form_that_the_scripts_are_tested_with() -> None:
    known = facts(load("ml50"))
    assert known.keys() == FACTS.keys()
    assert [one.keys() for one in known["backups"][:1]] == [one.keys() for one in FACTS["backups"][:1]]
    assert known["room"][0].keys() == FACTS["room"][0].keys()
    assert known["etcdQuota"] == 8 * 2**30
    assert (known["slices"], known["addresses"]) == (256, 256)
    assert facts(load("a30-bench"))["slices"] == 0, "Calico's blocks are no node's for good"


def test_facts_tell_which_backups_and_drills_rest() -> None:
    ml50 = load("ml50")
    first, second = ml50.ceph_backups
    resting = (structs.replace(first, suspended=True), structs.replace(second, drill=Drill(suspended=True)))
    found = {
        (one["of"], one["name"]): one["suspended"] for one in facts(structs.replace(ml50, backups=resting))["backups"]
    }
    assert found == {
        ("backup", "datasets"): True,
        ("backup", "checkpoints"): False,
        ("backup", "etcd"): False,
        ("backup", "zabbix"): False,
        ("drill", "datasets"): True,
        ("drill", "checkpoints"): True,
        ("drill", "zabbix"): False,
    }


def test_it_writes_only_what_its_definition_states() -> None:
    one = health_report(load("ml50"))
    spaces = {each["metadata"].get("namespace") for each in one.objects} - {None}
    assert spaces == {NAMESPACE}, "a role elsewhere would let this tier write there"


@pytest.mark.parametrize(
    ("of", "file"),
    [
        ("backup", "workflows/backup.yaml"),
        ("backup", "etcd_backup/template.yaml"),
        ("backup", "zabbix_backup/dump.yaml"),
        ("drill", "workflows/drill.yaml"),
    ],
)
def test_good_runs_are_kept_for_as_long_as_the_report_believes(of: str, file: str) -> None:
    (line,) = re.findall(r"^KEPT = (.*?)  #", read_text("health_report/happened.py.txt"), re.MULTILINE)
    templates = [one for one in read_objects(file) if one["kind"] == "WorkflowTemplate"]
    kept = [one["spec"]["ttlStrategy"] for one in templates]
    good = {one.get("secondsAfterSuccess", one.get("secondsAfterCompletion")) for one in kept}
    assert good == {ast.literal_eval(line)[of] * 86400}
