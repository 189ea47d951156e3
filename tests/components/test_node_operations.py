"""Operations on nodes: what their steps are told, what they may, and what the burn-in finds."""

import importlib
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from msgspec import structs
from nodeshelf import imported as imported_scripts
from reference import without_backups, without_operations

from generator.components.node_operations import DEFINITION, node_operations
from generator.components.node_operations.admission import LONGEST
from generator.components.node_operations.facts import OF_POOL, config_maps, upgrade_facts
from generator.components.node_operations.names import (
    DRIVE_REPLACEMENT,
    DRIVER_UPGRADE,
    EXPANSION,
    FACTS,
    LEASES,
    MAINTENANCE,
    MINIO_EXPANSION,
    NAMESPACE,
    OSD_REPLACEMENT,
    REMOVAL,
    REPLACEMENT,
    UPGRADE,
)
from generator.components.node_operations.rights import rights
from generator.components.node_operations.templates import (
    FILES,
    ask_ceph_job,
    burn_in_job,
    drive_replacement,
    driver_upgrade,
    expansion,
    maintenance,
    minio_expansion,
    osd_replacement,
    removal,
    replacement,
    scripts,
    upgrade,
)
from generator.components.static import read_text
from generator.model.base import is_label
from generator.model.cluster import Cluster

TEMPLATES = {
    EXPANSION: expansion(),
    REMOVAL: removal(),
    REPLACEMENT: replacement(),
    OSD_REPLACEMENT: osd_replacement(),
    DRIVE_REPLACEMENT: drive_replacement(),
    MINIO_EXPANSION: minio_expansion(),
    UPGRADE: upgrade(),
    MAINTENANCE: maintenance(),
    DRIVER_UPGRADE: driver_upgrade(),
}
OF_ALL_NODES = (UPGRADE, MAINTENANCE, DRIVER_UPGRADE)
OF_NO_NODE = (MINIO_EXPANSION,)
OF_ONE_NODE = [name for name in TEMPLATES if name not in (*OF_ALL_NODES, *OF_NO_NODE)]
IMPORTED = re.compile(r"^(?:from (\w+) import|import (\w+)$)", re.MULTILINE)


def script(name: str) -> str:
    """Return the name of an operation's script."""
    return name.removeprefix("node-").removeprefix("kubernetes-").replace("-", "_")


def imported(name: str) -> set[str]:
    """Return a script and all others that it imports, and they."""
    found, left = set[str](), {name}
    while left:
        found |= left
        texts = [read_text(f"node_operations/{one}.py.txt") for one in left]
        words = {one or other for text in texts for one, other in IMPORTED.findall(text)}
        left = {one for one in words if f"{one}.py" in FILES} - found
    return found


def facts(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """Return what the steps read of each node."""
    found: dict[str, dict[str, Any]] = {}
    for one in config_maps(cluster):
        assert one["metadata"]["labels"][FACTS] == "nodes"
        of_pool = json.loads(one["data"][OF_POOL])
        found |= {name: of_pool | json.loads(line) for name, line in one["data"].items() if name != OF_POOL}
    return found


def steps(template: dict[str, Any]) -> set[str]:
    """Return the steps that run a pod."""
    return {one["name"] for one in template["spec"]["templates"] if "container" in one}


def templates_of(cluster: Cluster) -> set[str]:
    """Return the names of the templates that the cluster has."""
    return {one["metadata"]["name"] for each in node_operations(cluster).operations for one in each.templates}


def test_a_cluster_without_argo_workflows_has_none(ml50: Cluster) -> None:
    assert DEFINITION.wanted(ml50)
    assert not DEFINITION.wanted(without_operations(ml50))


def test_the_job_that_tries_devices_names_no_image() -> None:
    """The mirror's, where there is one: nobody rewrites images inside of scripts."""
    (container,) = burn_in_job()["spec"]["template"]["spec"]["containers"]
    assert "image" not in container


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_step_is_one_of_its_script_and_told_every_parameter(name: str) -> None:
    template = TEMPLATES[name]
    known = re.search(
        r"^STEPS = \{(.*?)\}$",
        read_text(f"node_operations/{script(name)}.py.txt"),
        re.MULTILINE | re.DOTALL,
    )
    assert known
    assert steps(template) == set(re.findall(r'"([\w-]+)":', known[1]))
    said = {one["name"] for one in template["spec"]["arguments"]["parameters"]}
    for one in template["spec"]["templates"]:
        if "container" in one:
            given = {each["name"] for each in one["container"]["env"]}
            assert {each.upper().replace("-", "_") for each in said} <= given
            assert ("STATUS" in given) == (one["name"] == "report")


@pytest.mark.parametrize("name", TEMPLATES)
def test_variables_that_scripts_read_are_given(name: str) -> None:
    """Those that are read when a script is imported stop every step."""
    texts = "".join(read_text(f"node_operations/{one}.py.txt") for one in imported(script(name)))
    containers = [one["container"] for one in TEMPLATES[name]["spec"]["templates"] if "container" in one]
    given = {each["name"] for one in containers for each in one["env"]}
    of_tests = {"ACCOUNT", "AWAY", "DRAIN_ONLY", "LAST_WORDS", "MOMENT", "PAUSE", "PLACE_SECONDS"}
    # Of drivers nothing asks whether storage and control plane may miss a node: both stay as they are.
    of_tests |= {"CONTROL_PLANE_OUTAGE", "STORAGE_SECONDS"} if name == DRIVER_UPGRADE else set()
    # Who replaces a machine has the same steps as who takes one in, and asks for no neighbour; and as who empties one,
    # whose OSDs leave in any case.
    of_tests |= {"NEIGHBOUR", "OSDS"} if name == REPLACEMENT else set()
    known = given | of_tests | {"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}
    assert set(re.findall(r'(?:os\.environ(?:\.get\(|\[)|said\()"(\w+)"', texts)) <= known
    assert ("DRAIN_ONLY" in given) == (name == DRIVER_UPGRADE), "elsewhere all pods leave"
    assert f"/scripts/{script(name)}.py" in containers[0]["command"]


@pytest.mark.parametrize("name", OF_ONE_NODE)
def test_no_step_runs_on_the_node_that_it_is_about(name: str) -> None:
    for one in TEMPLATES[name]["spec"]["templates"]:
        if "container" in one:
            (term,) = one["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
                "nodeSelectorTerms"
            ]
            assert term["matchExpressions"] == [
                {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["{{workflow.parameters.node}}"]}
            ]


def mutexes(name: str, template: str) -> list[str]:
    """Return which mutexes a template of an operation takes."""
    (one,) = [one for one in TEMPLATES[name]["spec"]["templates"] if one["name"] == template]
    return [each["name"] for each in one["synchronization"]["mutexes"]]


def test_ceph_loses_and_gets_disks_of_one_operation_at_a_time() -> None:
    assert mutexes(EXPANSION, "let-in") == mutexes(REPLACEMENT, "let-in") == mutexes(REPLACEMENT, "osds") == ["ceph"]
    assert mutexes(REMOVAL, "osds") == ["ceph"]
    assert {"name": "ceph"} in TEMPLATES[OSD_REPLACEMENT]["spec"]["synchronization"]["mutexes"]


def test_one_drive_of_minio_at_a_time_is_changed_until_it_is_healed() -> None:
    for name in (DRIVE_REPLACEMENT, MINIO_EXPANSION):
        assert {"name": "minio"} in TEMPLATES[name]["spec"]["synchronization"]["mutexes"]


def test_what_stops_jobs_does_so_one_node_after_the_other() -> None:
    for name in OF_ALL_NODES:
        assert {"name": "node-disruption"} in TEMPLATES[name]["spec"]["synchronization"]["mutexes"]
    assert {"name": "node-disruption"} not in TEMPLATES[EXPANSION]["spec"]["synchronization"]["mutexes"]
    for template in ("stop", "empty"):
        assert mutexes(REPLACEMENT, template) == ["node-disruption"], "and not while a new machine is awaited"
    assert mutexes(OSD_REPLACEMENT, "purge") == mutexes(DRIVE_REPLACEMENT, "swap") == ["node-disruption"]
    assert mutexes(REMOVAL, "empty") == ["node-disruption"], "and not while its OSDs leave"
    for name in OF_ONE_NODE:
        assert {"name": "node-{{workflow.parameters.node}}"} in TEMPLATES[name]["spec"]["synchronization"]["mutexes"]
    (let_in,) = [one for one in TEMPLATES[EXPANSION]["spec"]["templates"] if one["name"] == "let-in"]
    assert let_in["synchronization"]["mutexes"] == [{"name": "ceph"}]
    (order,) = [one for one in TEMPLATES[EXPANSION]["spec"]["templates"] if one["name"] == EXPANSION]
    (without, with_osds) = order["steps"][-1]
    assert (without["template"], with_osds["template"]) == ("accept", "let-in"), (
        "a node without OSDs waits for no other"
    )


def test_steps_know_of_a_node_what_the_file_says(ml50: Cluster) -> None:
    found = facts(ml50)
    assert found.keys() == {machine.name for machine in ml50.machines}
    gpu = found["gpu-01"]
    assert gpu["address"] == "10.10.0.101"
    assert gpu["resources"] == {"nvidia.com/gpu": 8, "rdma/hca_shared_devices_a": 63}
    assert gpu["burn-in"] == {"nvidia.com/gpu": 8, "rdma/hca_shared_devices_a": 1}
    plugged = {"mlx5_0": "ib-leaf-1/1", "mlx5_1": "ib-leaf-2/1"}
    assert gpu["expected"] == {"gpus": 8, "hcas": plugged, "gbits": 400, "disks": 2, "memory": 506}
    assert (found["cpu-01"]["expected"]["hcas"], found["cpu-01"]["expected"]["gbits"]) == ({}, 0)
    assert gpu["hardware"] == {"cpu": 128, "memory": 2**40, "gpu": "H100"}
    assert {one["key"] for one in gpu["taints"]} == {"nvidia.com/gpu", "gen.internal/training"}
    assert gpu["unowned"]["nvidia.com/gpu"] == 8
    assert (gpu["osds"], found["cpu-01"]["osds"], found["cpu-01"]["resources"]) == (0, 12, {})
    assert "rook-ceph.rbd.csi.ceph.com" in found["cpu-01"]["drivers"]
    assert set(found["cpu-01"]["monitors"]) == {machine.name for machine in ml50.monitor_hosts}


def test_without_ceph_and_teams_steps_ask_for_neither(ml50: Cluster) -> None:
    plain = structs.replace(ml50, teams=(), storage=structs.replace(ml50.storage, ceph=None))
    assert not any(one[what] for one in facts(plain).values() for what in ("queues", "ceph", "unowned", "monitors"))
    rules = [rule for one in rights(plain) if "rules" in one for rule in one["rules"]]
    groups = {group for rule in rules for group in rule.get("apiGroups", ())}
    assert groups == {"", "batch", "coordination.k8s.io", "storage.k8s.io", "policy", "apps", "argoproj.io"}
    spaces = {None, LEASES, NAMESPACE, "minio", "gpu-operator"}
    assert {one["metadata"].get("namespace") for one in rights(plain)} == {*spaces, "etcd-backup"}
    assert {one["metadata"].get("namespace") for one in rights(without_backups(plain))} == spaces
    assert OSD_REPLACEMENT not in templates_of(plain)


def test_without_gpus_nobody_upgrades_their_drivers(ml50: Cluster) -> None:
    assert DRIVER_UPGRADE in templates_of(ml50)
    plain = structs.replace(ml50, machines=tuple(one for one in ml50.machines if not one.gpus))
    assert DRIVER_UPGRADE not in templates_of(plain)
    assert not [one for one in rights(plain) if one["metadata"]["name"] == DRIVER_UPGRADE]


def test_nodes_are_changed_by_name_and_deleted_only_where_they_are_replaced(ml50: Cluster) -> None:
    names = [machine.name for machine in ml50.machines]
    for role in (one for one in rights(ml50) if one["kind"] == "ClusterRole"):
        writes = [rule for rule in role["rules"] if not set(rule["verbs"]) <= {"get", "list"}]
        of_nodes = [rule for rule in role["rules"] if rule.get("resources") == ["nodes"] and rule in writes]
        changes = {REPLACEMENT: [(["delete", "patch"], names)], DRIVE_REPLACEMENT: []}
        changes[DRIVER_UPGRADE] = [(["patch"], [machine.name for machine in ml50.gpu_nodes])]
        expected = changes.get(role["metadata"]["name"], [(["patch"], names)])
        assert [(rule["verbs"], rule["resourceNames"]) for rule in of_nodes] == expected
        others = [rule for rule in writes if rule not in of_nodes]
        assert {verb for rule in others for verb in rule["verbs"]} <= {"create", "get", "list", "patch"}
        assert not [rule for rule in role["rules"] if "secrets" in rule.get("resources", ())]


def test_no_operation_may_change_the_scripts_of_others(ml50: Cluster) -> None:
    """Who could would be all of them."""
    roles = [one for one in (*node_operations(ml50).base, *rights(ml50)) if one["kind"] in ("Role", "ClusterRole")]
    here = [one for one in roles if one["metadata"].get("namespace", NAMESPACE) == NAMESPACE]
    rules = [rule for one in here for rule in one["rules"] if "configmaps" in rule.get("resources", ())]
    changing = [rule for rule in rules if {"delete", "patch", "update"} & {*rule["verbs"]}]
    assert len(changing) == 5
    names = {name for rule in changing for name in rule["resourceNames"]}
    assert {
        "node-removal-cpu-27",
        "node-replacement-gpu-01",
        "osd-replacement-cpu-27",
        "drive-replacement-nas-2",
    } <= names
    assert not names & {one["metadata"]["name"] for one in (scripts(), *config_maps(ml50), upgrade_facts(ml50))}


def test_an_upgrade_is_told_what_the_file_says(ml50: Cluster) -> None:
    made = node_operations(ml50)
    (one,) = [one for one in made.objects if one["metadata"]["name"] == UPGRADE and one["kind"] == "ConfigMap"]
    facts = json.loads(one["data"]["facts"])
    assert (facts["version"], facts["control-plane"]) == ("1.35.3", ["cp-1", "cp-2", "cp-3"])
    assert facts["backup"] == {"namespace": "etcd-backup", "runs": "gen.internal/backup=etcd"}
    assert "registry.k8s.io/kube-apiserver:v1.35.3" in facts["images"]
    plain = upgrade_facts(without_backups(ml50))
    assert json.loads(plain["data"]["facts"])["backup"] is None


@pytest.mark.parametrize("name", OF_ALL_NODES)
def test_who_goes_over_all_nodes_stays_on_the_control_plane_where_it_can(name: str) -> None:
    for one in TEMPLATES[name]["spec"]["templates"]:
        if "container" in one:
            (rather,) = one["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
            (key,) = rather["preference"]["matchExpressions"]
            assert (key["key"], key["operator"]) == ("node-role.kubernetes.io/control-plane", "Exists")
            assert one["tolerations"][0]["key"] == key["key"]


def test_the_namespace_is_restricted(ml50: Cluster) -> None:
    (namespace,) = node_operations(ml50).namespaces
    assert (namespace.name, namespace.security) == (NAMESPACE, "restricted")


def test_jobs_bear_names_of_nodes_however_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = imported_scripts(tmp_path, monkeypatch)
    next(shelf)
    naming = importlib.import_module("naming")
    assert naming.LONGEST == LONGEST, "the rule on who names them goes by it, too"
    short = naming.short_name
    assert [short(one) for one in ("gpu-01", "g" * 46)] == ["gpu-01", "g" * 46]
    long = ["g" * 47, "g" * 63, "gpu-01.rack-1.example.org", "gpu-01.rack-1.example.com", "a" * 36 + ".b"]
    names = [f"burn-in-nccl-2-{short(one)}-0" for one in long]
    assert [one for one in names if not is_label(one)] == []
    assert len({*names}) == len(long)
    assert short("gpu-01.rack-1.example.org").startswith("gpu-01-rack-1-example-org-")
    next(shelf, None)


ASKED = """#!/bin/sh
case $1 in
fails) echo "Error EBUSY: OSD(s) 3 have 24 pgs currently mapped to them." >&2; exit 16 ;;
*) echo '{"osd": 3}'; echo "a warning" >&2 ;;
esac
"""


@pytest.mark.parametrize(("word", "code", "said"), [("find", 0, '{"osd": 3}'), ("fails", 16, "Error EBUSY: OSD(s) 3")])
def test_a_pod_that_asks_ceph_ends_with_the_answer_or_else_with_why(
    word: str, code: int, said: str, tmp_path: Path
) -> None:
    (container,) = ask_ceph_job()["spec"]["template"]["spec"]["containers"]
    told = tmp_path / "told"
    shell = [one.replace("/dev/termination-log", str(told)) for one in container["command"]]
    assert shell != container["command"]
    program = tmp_path / "ceph"
    program.write_text(ASKED)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert subprocess.run([*shell, program, word], check=False).returncode == code
    assert told.read_text().strip().startswith(said)
    assert "a warning" not in told.read_text()


class Node:
    """What a pod with all devices of a node sees, as files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.smi: list[str] = []
        self.answers = 0

    def hca(self, name: str, state: str, rate: str = "400 Gb/sec (4X NDR)") -> None:
        port = self.folder / "sys/class/infiniband" / name / "ports/1"
        port.mkdir(parents=True)
        (port / "state").write_text(state)
        (port / "rate").write_text(f"{rate}\n")

    def try_it(self, **expected: Any) -> tuple[int, str]:
        """Run the burn-in; its exit code and what it leaves for whoever asks."""
        program = self.folder / "nvidia-smi"
        (self.folder / "smi").write_text("".join(f"{line}\n" for line in self.smi))
        program.write_text(f"#!/bin/sh\ncat {self.folder}/smi\nexit {self.answers}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        script = self.folder / "burn_in.py"
        script.write_text(read_text("node_operations/burn_in.py.txt"))
        env = {
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "ROOT": str(self.folder),
            "TOLD": str(self.folder / "told"),
            "DISK_BYTES": str(20 * 2**20),
            "GIB": str(4 * 2**20),
            "EXPECTED": json.dumps({"gpus": 0, "hcas": {}, "gbits": 400, "disks": 0, "memory": 0} | expected),
        }
        done = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, (self.folder / "told").read_text()


GOOD = ["0, NVIDIA H100 80GB HBM3, 0, 16, 16", "1, NVIDIA H100 80GB HBM3, 0, 16, 16"]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    made = Node(tmp_path)
    made.smi = [*GOOD]
    return made


def test_a_good_node_passes(node: Node) -> None:
    node.hca("mlx5_0", "4: ACTIVE\n")
    (node.folder / "disks/0").mkdir(parents=True)
    code, told = node.try_it(gpus=2, hcas={"mlx5_0": "ib-leaf-1/1"}, disks=1)
    assert (code, told.startswith("passed; 2 GPUs; mlx5_0 4: ACTIVE 400 Gb/sec (4X NDR); disk 0: ")) == (0, True), told
    assert not list((node.folder / "disks/0").iterdir())


def test_each_fault_of_a_gpu_is_told(node: Node) -> None:
    assert node.try_it(gpus=8) == (1, "2 of 8 GPUs")
    node.smi[1] = "1, NVIDIA H100 80GB HBM3, 3, 8, 16"
    code, told = node.try_it(gpus=2)
    assert code == 1
    assert "3 memory errors" in told
    assert "8 of 16 PCIe lanes" in told
    node.smi[1] = "1, NVIDIA A30, [N/A], [N/A], 16"
    assert node.try_it(gpus=2)[0] == 0
    node.answers = 9
    assert "nvidia-smi does not answer" in node.try_it(gpus=2)[1]


def test_a_port_that_is_down_or_missing_is_told(node: Node) -> None:
    node.hca("mlx5_0", "1: DOWN\n")
    code, told = node.try_it(hcas={"mlx5_0": "ib-leaf-1/1", "mlx5_1": ""})
    assert (code, told) == (1, "mlx5_0, which belongs into ib-leaf-1/1: 1: DOWN; mlx5_1: not there")


@pytest.mark.parametrize(("rate", "found"), [("100 Gb/sec (1X NDR)", "100"), ("2.5 Gb/sec (1X SDR)", "2.5")])
def test_a_slower_link_than_the_fabric_s_is_told_with_its_switch_port(node: Node, rate: str, found: str) -> None:
    node.hca("mlx5_0", "4: ACTIVE\n")
    node.hca("mlx5_1", "4: ACTIVE\n", rate)
    code, told = node.try_it(hcas={"mlx5_0": "ib-leaf-1/1", "mlx5_1": "ib-leaf-2/1"})
    assert (code, told) == (1, f"mlx5_1, which belongs into ib-leaf-2/1: a link of {found} Gbit/s, not 400")


def test_a_disk_that_is_missing_or_full_is_told(node: Node) -> None:
    code, told = node.try_it(disks=1)
    assert code == 1
    assert "disk 0" in told
    (node.folder / "disks/0").mkdir(parents=True)
    (node.folder / "disks/0/burn-in").symlink_to("/dev/full")
    assert "No space left" in node.try_it(disks=1)[1]


def test_a_disk_that_gives_back_something_else_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISK_BYTES", "100")
    script = ModuleType("burn_in")
    exec(compile(read_text("node_operations/burn_in.py.txt"), "burn_in.py", "exec"), script.__dict__)
    assert list(script.disk(1, tmp_path / "file")) == []
    monkeypatch.setattr(script, "read", lambda _file: "another digest")
    assert list(script.disk(1, tmp_path / "file")) == ["disk 1 does not give back what was written"]


def test_memory_that_gives_back_something_else_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOT", str(tmp_path))
    script = ModuleType("burn_in")
    exec(compile(read_text("node_operations/burn_in.py.txt"), "burn_in.py", "exec"), script.__dict__)
    errors = tmp_path / "sys/devices/system/edac/mc/mc0"
    errors.mkdir(parents=True)
    for name, count in (("ce_count", 7), ("ue_count", 0)):
        (errors / name).write_text(f"{count}\n")
    size = 2 * script.PART * (os.cpu_count() or 1)
    assert list(script.memory(0)) == []
    assert list(script.memory(size)) == []
    counts = iter((7, 9, 1))
    monkeypatch.setattr(script, "counted", lambda _name: next(counts))
    told = ["2 memory errors were corrected meanwhile", "1 memory errors could not be corrected since the machine"]
    assert [one.startswith(words) for one, words in zip(script.memory(size), told, strict=True)] == [True, True]
    # A bit of the second block is lost.
    names = iter((b"-------1", b"-------2", b"-------1", b"-------3") * 99)
    monkeypatch.setattr(script, "name_of", lambda _number, _at: next(names))
    assert script.holds(0, 2 * script.PART) is False
    monkeypatch.setattr(script, "counted", lambda _name: 0)
    monkeypatch.setattr(script, "holds", lambda number, _size: number != 0)
    (said,) = script.memory(size)
    assert said.startswith("1 of ")
    assert said.endswith("parts of the memory do not give back what was written")
