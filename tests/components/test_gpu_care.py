"""`gpu-care`: where it is, what its steps are told and may, and when it begins by itself."""

import json
import re
from typing import Any

import pytest
from msgspec import structs
from reference import load, without_backups
from validation.schemas import problems

from generator.components import CATALOGUE, compose
from generator.components.component import Component
from generator.components.gpu_care import DEFINITION, gpu_care
from generator.components.gpu_care.names import DRAIN, NAME, SICK, SUSPECT
from generator.components.gpu_care.templates import scripts, templates
from generator.components.gpu_care.xids import CLASSES, table
from generator.components.gpu_operator import NAMESPACE as GPU_OPERATOR
from generator.components.gpu_operator import exporter_pods
from generator.components.node_operations.names import NAMESPACE
from generator.components.static import read_text
from generator.components.zabbix.templates.devices import gpu_faults
from generator.model.cluster import Cluster, ComponentSettings
from generator.model.gpu_care import GpuCare

TEMPLATES = {one["metadata"]["name"]: one for one in templates()}


def cared(*, drain: bool = False, percent: int = 10) -> Cluster:
    return structs.replace(load("ml50"), gpu_care=GpuCare(drain=drain, percent_per_day=percent))


def objects(made: Component, kind: str) -> dict[str, Any]:
    return {
        one["metadata"]["name"] + "/" + one["metadata"].get("namespace", ""): one
        for one in made.objects
        if one["kind"] == kind
    }


def test_it_is_there_only_where_the_file_asks_for_it() -> None:
    assert DEFINITION.wanted(cared())
    assert not DEFINITION.wanted(structs.replace(cared(), gpu_care=None))
    assert not DEFINITION.wanted(structs.replace(cared(), machines=cared().control_plane))


def test_it_brings_what_it_needs() -> None:
    """Without backups nothing else would bring operations on nodes, or Argo Workflows."""
    made = {one.name: one for one in compose(without_backups(cared()))}
    assert {"argo-workflows", "node-operations", "gpu-operator"} <= set(made["gpu-care"].needs)


def test_objects_are_accepted() -> None:
    made = gpu_care(cared(drain=True))
    all_templates = [template for one in made.operations for template in one.templates]
    assert [each for one in (*made.objects, *all_templates) for each in problems(one)] == []


def test_it_writes_only_what_its_definition_states() -> None:
    made = gpu_care(cared(drain=True))
    spaces = {one["metadata"].get("namespace") for one in made.objects} - {None}
    assert spaces == {NAMESPACE, GPU_OPERATOR} == {*CATALOGUE[NAME].reach}
    kinds = {one["kind"] for one in made.objects if "namespace" not in one["metadata"]}
    assert kinds == {"ClusterRole", "ClusterRoleBinding"}


def test_looks_begin_by_themselves_and_jobs_leave_only_where_asked() -> None:
    looking = objects(gpu_care(cared(percent=25)), "CronWorkflow")
    assert looking.keys() == {f"{NAME}/{NAMESPACE}"}
    spec = looking[f"{NAME}/{NAMESPACE}"]["spec"]
    assert (spec["schedules"], spec["concurrencyPolicy"]) == (["*/5 * * * *"], "Forbid")
    assert spec["workflowSpec"]["arguments"]["parameters"] == [{"name": "percent-per-day", "value": "25"}]
    draining = objects(gpu_care(cared(drain=True)), "CronWorkflow")
    assert draining.keys() == {f"{NAME}/{NAMESPACE}", f"{DRAIN}/{NAMESPACE}"}
    assert f"{DRAIN}/{NAMESPACE}" not in objects(gpu_care(cared()), "CronWorkflow")


def test_each_template_has_its_account_also_where_jobs_do_not_leave_by_themselves() -> None:
    accounts = objects(gpu_care(cared()), "ServiceAccount")
    assert {f"{one['spec']['serviceAccountName']}/{NAMESPACE}" for one in TEMPLATES.values()} == accounts.keys()


def test_who_looks_changes_gpu_nodes_alone_and_stops_nothing() -> None:
    cluster = cared(drain=True)
    names = [one.name for one in cluster.gpu_nodes]
    roles = objects(gpu_care(cluster), "ClusterRole")
    writes = [rule for rule in roles[f"{NAME}/"]["rules"] if not set(rule["verbs"]) <= {"get", "list"}]
    assert [(rule["resources"], rule["verbs"], rule["resourceNames"]) for rule in writes] == [
        (["nodes"], ["get", "patch"], names)
    ]
    writes = [rule for rule in roles[f"{DRAIN}/"]["rules"] if not set(rule["verbs"]) <= {"get", "list"}]
    assert [rule["resources"] for rule in writes] == [["pods/eviction"], ["workloads"]]
    without = objects(gpu_care(structs.replace(cluster, teams=())), "ClusterRole")
    assert "kueue.x-k8s.io" not in json.dumps(without), "without teams there is no Kueue"


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_step_is_one_of_its_script_and_told_what_that_reads(name: str) -> None:
    script = name.replace("-", "_")
    text = read_text(f"gpu_care/{script}.py.txt")
    (known,) = re.findall(r"^STEPS = \{(.*?)\}", text, re.MULTILINE | re.DOTALL)
    steps = {one["name"]: one for one in TEMPLATES[name]["spec"]["templates"] if "container" in one}
    assert steps.keys() == set(re.findall(r'"([\w-]+)":', known))
    read = set(re.findall(r'os\.environ(?:\.get\(|\[)"(\w+)"', text))
    read |= (
        set(re.findall(r'os\.environ\["(\w+)"', read_text("node_operations/draining.py.txt")))
        if name == DRAIN
        else set()
    )
    for one in steps.values():
        given = {each["name"]: each["value"] for each in one["container"]["env"]}
        assert read <= given.keys()
        assert f"/scripts/{script}.py" in one["container"]["command"]
        assert (given.get("NODE") == "{{inputs.parameters.node}}") == ("inputs" in one)
        assert (given.get("DRAIN_ONLY") == "nvidia.com/") == (name == DRAIN), "all pods would go"


def test_what_stops_jobs_does_so_one_node_after_the_other() -> None:
    (node,) = [one for one in TEMPLATES[DRAIN]["spec"]["templates"] if one["name"] == "node"]
    assert node["synchronization"]["mutexes"] == [{"name": "node-disruption"}]
    for name in (NAME, "gpu-cleared"):
        assert TEMPLATES[name]["spec"]["synchronization"]["mutexes"] == [{"name": NAME}]


def test_scripts_and_program_mean_the_same_marks_and_pods() -> None:
    data = scripts()["data"]
    for name, value in {"SICK": SICK, "SUSPECT": SUSPECT}.items():
        assert f'{name} = f"{{OWN}}/{value.partition("/")[2]}"' in data["marking.py"]
    (pods,) = exporter_pods({})
    assert f'EXPORTER, PLUGIN = "{pods.labels["app"]}"' in data["gpu_nodes.py"]
    assert f"/namespaces/{pods.namespace}/pods" in data["gpu_nodes.py"]
    assert json.loads(data["xids.json"]) == table()


def test_every_xid_is_in_one_class() -> None:
    codes = [code for each in CLASSES.values() for code in each]
    assert len(codes) == len(set(codes)) == len(table())
    assert {48, 62, 64, 74, 79, 95, 119, 120} <= {int(code) for code, (kind, _) in table().items() if kind == "sick"}


def test_zabbix_calls_the_same_xids_a_fault_of_the_device() -> None:
    """Sick ones and those that a reset puts right; what an application did is told, and is no fault of the device."""
    (fault,) = [one for one in gpu_faults()[0]["trigger_prototypes"] if "fault of the device" in one["name"]]
    codes = {int(code) for code in re.findall(r"last\([^)]*\)=(\d+)", fault["expression"])}
    kinds = {"sick", "reset"}
    assert codes == {int(code) for code, (kind, _) in table().items() if kind in kinds}
    assert len(fault["expression"]) < 1500, "Zabbix keeps 2048 characters, with more of them for each item"


def test_the_operators_pods_run_on_sick_nodes_too() -> None:
    def tolerated(cluster: Cluster) -> set[str]:
        (operator,) = [one for one in compose(cluster) if one.name == "gpu-operator"]
        return {one["key"] for one in operator.releases[0].values["daemonsets"]["tolerations"]}

    assert tolerated(cared()) - tolerated(structs.replace(cared(), gpu_care=None)) == {SICK}


def test_exporters_of_others_are_shut_for_nobody() -> None:
    """A policy that lets somebody in shuts the pod for all others; where others run the operator, none lets them in."""
    assert objects(gpu_care(cared()), "NetworkPolicy")
    others = structs.replace(cared(), components={"gpu-operator": ComponentSettings(managed=False)})
    assert not objects(gpu_care(others), "NetworkPolicy")
