"""The page on the way back of a lost site: true of the cluster, and each command one that there is."""

import os
import re
import subprocess
from pathlib import Path

import click
import pytest
from msgspec import structs
from recoverypage import Step, listed, page, steps
from reference import load
from volumebackups import HOME

from generator.cli import cli as gen
from generator.components import compose
from generator.components.kubeadm.recovery import recovery_files
from generator.components.kubeadm.steps import steps as installation
from generator.model.backup import CopyTarget, VolumeBackup
from generator.model.cluster import Cluster
from generator.model.secret_store import Escrow
from generator.model.storage import Encryption

VOLUME = structs.replace(HOME, target=CopyTarget(bucket="backups"))
CLUSTERS = ("ml50", "a30-bench", "gpu-serving")


def unencrypted(cluster: Cluster) -> Cluster:
    """Return the cluster with Ceph's disks in plain."""
    ceph = cluster.storage.ceph
    assert ceph
    plain = structs.replace(ceph, encryption=Encryption(transit=True, rest=False))
    return structs.replace(cluster, storage=structs.replace(cluster.storage, ceph=plain))


@pytest.mark.parametrize("name", CLUSTERS)
def test_the_table_names_the_steps_of_each_case_in_their_order(name: str) -> None:
    found = steps(load(name))
    assert [one.number for one in found.values()] == [*range(1, len(found) + 1)]
    for letter, numbers in listed(load(name)).items():
        assert numbers == [one.number for one in found.values() if letter in one.cases]
    assert {letter for one in found.values() for letter in one.cases} == {*listed(load(name))}


def test_each_part_comes_after_what_it_needs() -> None:
    order = [*steps(load("ml50"))]
    needed = ["Stop the workers' kubelets", "Control-plane machines", "An empty control plane", "etcd", "Workers"]
    needed += ["Ceph", "MinIO", "Argo CD again", "Try it, and keep it again"]
    assert [title for title in order if title in needed] == needed
    assert order.index("The monitors' data") < order.index("Without a snapshot") < order.index("Ceph")


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_step_that_is_spoken_of_is_there(name: str) -> None:
    cluster = load(name)
    told = {*re.findall(r"[*]([A-Z*][A-Za-z' -]+|etcd)[*]", page(cluster).replace("**", ""))}
    there = {*steps(cluster), *re.findall(r"^## \d+\. (.*)", str(installation(cluster)), re.MULTILINE)}
    assert told
    assert told <= there


@pytest.mark.parametrize("name", CLUSTERS)
def test_each_step_has_a_check(name: str) -> None:
    for title, one in steps(load(name)).items():
        assert "Check" in one.text, title


def parsed(words: list[str]) -> click.Command:
    """Return the command that words call; raises click's error for what it does not know."""
    with click.Context(gen) as context:
        name, found, rest = gen.resolve_command(context, words)
        while isinstance(found, click.Group):
            name, found, rest = found.resolve_command(context, rest)
        assert found
        assert name
        path = Path.cwd()
        found.make_context(name, [str(path) if word == "DIR" else word for word in rest], parent=context)
        return found


@pytest.mark.parametrize("name", CLUSTERS)
def test_each_command_of_gen_is_one_with_those_options(name: str) -> None:
    text = page(load(name))
    found = re.findall(r"^gen (.*)$", text, re.MULTILINE) + re.findall(r"`gen ([^`]+)`", text)
    ours = [one.split() for one in found if "--" in one]
    assert len(ours) > 2
    for words in ours:
        parsed(words)


@pytest.mark.parametrize("claims", [(), (VOLUME,)])
def test_each_operation_is_one_of_the_cluster(claims: tuple[VolumeBackup, ...], ml50: Cluster) -> None:
    ml50 = structs.replace(ml50, volume_backups=claims)
    named = re.findall(r"gen workflow submit (\S+)", page(ml50))
    schedules = {
        one["metadata"]["name"]
        for component in compose(ml50)
        for one in (*component.base, *component.objects)
        if one["kind"] == "CronWorkflow"
    }
    assert len(named) == 8 + len(claims)
    assert {*named} <= schedules


def test_who_acts_is_what_components_run(ml50: Cluster) -> None:
    block = steps(ml50)["etcd"].blocks[0]
    assert re.findall(r"scale (?:statefulset|deployment) (\S+) --replicas=0", block) == [
        "argocd-application-controller",
        "workflow-controller",
        "rook-ceph-operator",
    ]
    again = steps(ml50)["Argo CD again"].blocks[0] + steps(ml50)["Ceph"].blocks[0]
    assert sorted(re.findall(r"(\S+) --replicas=1", again)) == sorted(re.findall(r"(\S+) --replicas=0", block))


def few(cluster: Cluster) -> Cluster:
    """Return the cluster with a few of its machines."""
    names = {"cp-1", "cpu-01", "cpu-02", "nas-1", "gpu-01"}
    return structs.replace(cluster, machines=tuple(one for one in cluster.machines if one.name in names))


TOOL = """#!/bin/sh
echo "{name} $*" >>"$TOLD"
[ "{name} $1" != "crictl ps" ] || echo id-of-"$4"
"""
SSH = """#!/bin/sh
[ "$1" != -n ] || { shift; exec </dev/null; }
while [ "$1" = -o ]; do shift 2; done
[ "$1" != root@10.10.0.132 ] || exit 255
echo "at $1" >>"$TOLD"
shift
exec sh -c "$*"
"""


def tried(folder: Path, block: str, shell: str = "sh") -> tuple[str, list[str]]:
    """Run a block where every machine is this one and one does not answer; what it said, and what was called where."""
    for name in ("systemctl", "crictl", "kubeadm"):
        (folder / name).write_text(TOOL.format(name=name))
    (folder / "ssh").write_text(SSH)
    for file in folder.iterdir():
        file.chmod(0o755)
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "TOLD": str(folder / "told")}
    done = subprocess.run([shell, "-c", block], env=env, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout, (folder / "told").read_text().splitlines()


def test_every_worker_stops_what_acts_and_says_where_that_failed(ml50: Cluster, tmp_path: Path) -> None:
    ml50 = few(ml50)
    said, told = tried(tmp_path, steps(ml50)["Stop the workers' kubelets"].blocks[0])
    assert said == "10.10.0.132: not stopped\n"
    assert {one for one in told if one.startswith("at ")} == {
        f"at root@{one.address}" for one in ml50.machines if one.role != "control-plane" and one.name != "cpu-02"
    }
    assert told[1:8] == [
        "systemctl stop kubelet",
        "crictl ps --quiet --name ^argocd-application-controller$",
        "crictl stop id-of-^argocd-application-controller$",
        "crictl ps --quiet --name ^workflow-controller$",
        "crictl stop id-of-^workflow-controller$",
        "crictl ps --quiet --name ^rook-ceph-operator$",
        "crictl stop id-of-^rook-ceph-operator$",
    ]


def machine(folder: Path, block: str) -> str:
    """Return a block for a machine that has data of etcd, where all is in a folder."""
    (folder / "etcd/member").mkdir(parents=True)
    (folder / "etcd/member/db").write_text("all of it")
    (folder / "root/etcd-part").mkdir(parents=True)
    (folder / "root/etcd-part/half").write_text("of a run that was killed")
    (folder / "tools").mkdir()
    return block.replace("/var/lib/etcd", str(folder / "etcd")).replace("cd /root", f"cd {folder}/root")


@pytest.mark.parametrize("mounted", [1, 0])
def test_no_machine_is_reset_while_something_is_mounted_for_a_pod(mounted: int, ml50: Cluster, tmp_path: Path) -> None:
    ml50 = few(ml50)
    mounts = tmp_path / "mounts"
    mounts.write_text("/dev/sda / xfs rw 0 0\n" + "/dev/rbd0 /var/lib/kubelet/pods/x xfs rw 0 0\n" * mounted)
    block = machine(tmp_path, steps(ml50)["Without a snapshot"].blocks[0].replace("/proc/mounts", str(mounts)))
    said, told = tried(tmp_path / "tools", block)
    reset = [one for one in told if one == "kubeadm reset --force"]
    # Who had to disable it may have files of before, which Ansible then leaves alone.
    assert told.count("systemctl enable kubelet") == len(reset)
    assert len(reset) == (0 if mounted else len(ml50.machines) - 1)
    assert said.count("once more") == (len(ml50.machines) - 1 if mounted else 0)
    assert (tmp_path / "root/etcd-before/member/db").exists() == (not mounted)


def test_what_a_member_of_etcd_held_is_copied_once_while_nobody_writes_it(ml50: Cluster, tmp_path: Path) -> None:
    """A reset removes it, and it may be newer than any snapshot."""
    block = machine(tmp_path, steps(ml50)["Control-plane machines"].blocks[0])
    stopped = ["systemctl stop kubelet", "crictl ps --quiet --name ^etcd$", "crictl stop id-of-^etcd$"]
    assert tried(tmp_path / "tools", block)[1] == [*stopped, "kubeadm reset --force"]
    (tmp_path / "etcd/member/db").write_text("of the next one")
    assert tried(tmp_path / "tools", block)[1][4:] == ["kubeadm reset --force"]
    kept = [one for one in (tmp_path / "root").rglob("*") if one.is_file()]
    assert kept == [tmp_path / "root/etcd-before/member/db"]
    assert kept[0].read_text() == "all of it"


def test_the_data_of_monitors_is_copied_once_and_whole(ml50: Cluster, tmp_path: Path) -> None:
    there, root, tools = (tmp_path / name for name in ("rook", "root", "tools"))
    for folder in (there / "mon-a/data", root / "rook-part", tools):
        folder.mkdir(parents=True)
    (there / "mon-a/data/store").write_text("first")
    (root / "rook-part/half").write_text("of a run that was killed")
    block = steps(few(ml50))["The monitors' data"].blocks[0]
    block = block.replace("/var/lib/rook", str(there)).replace("cd /root", f"cd {root}")
    said, _ = tried(tools, block)
    assert f"{there}/mon-a" in said
    (there / "mon-a/data/store").write_text("changed since")
    tried(tools, block)
    assert [str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()] == [
        "rook-before/mon-a/data/store"
    ]
    assert (root / "rook-before/mon-a/data/store").read_text() == "first"


@pytest.mark.parametrize("said", ["exit 1", "echo '{}'", """printf '{\\n"dm-crypt/osd/%s/luks": "x"}\\n' 1 2"""])
def test_keys_of_disks_that_are_kept_outlive_a_ceph_that_does_not_answer(
    said: str, ml50: Cluster, tmp_path: Path
) -> None:
    (block,) = [one for one in steps(ml50)["Before it is needed"].blocks if "dm-crypt" in one]
    (tmp_path / "kubectl").write_text(f"#!/bin/sh\n{said}\n")
    # As age does: the file is there, and empty, as soon as it begins.
    (tmp_path / "age").write_text('#!/bin/sh\nfor file; do :; done\ncat >"$file"\n')
    for name in ("kubectl", "age"):
        (tmp_path / name).chmod(0o755)
    kept = tmp_path / "dm-crypt.age"
    kept.write_text("of before")
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", block], env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == ("2\n" if "luks" in said else "0\n")
    assert kept.read_text().count("luks") == (2 if "luks" in said else 0)
    assert (kept.read_text() == "of before") == ("luks" not in said)


def test_encrypted_disks_are_promised_nothing(ml50: Cluster) -> None:
    assert [*recovery_files(ml50)] == ["recovery/README.md"]
    assert "config-key dump dm-crypt" in page(ml50)
    assert "monitors.sh" not in page(ml50)
    plain = unencrypted(ml50)
    assert [*recovery_files(plain)] == ["recovery/README.md", "recovery/monitors.sh"]
    assert "dm-crypt" not in page(plain)
    assert "monitors.sh collect" in page(plain)


def test_nothing_is_spoken_of_that_the_cluster_has_not(ml50: Cluster) -> None:
    for words in ("Ceph", "rook", "MinIO", "MinIO", "etcd.db", "Zabbix"):
        assert words not in page(load("a30-bench")), words
    nobody = structs.replace(ml50.site, escrow=Escrow())
    assert "site.escrow.recipients` names nobody" in page(structs.replace(ml50, site=nobody))
    assert "age --recipient PUBLIC-KEY --output dm-crypt.age" in page(structs.replace(ml50, site=nobody))
    plain = structs.replace(ml50, kubernetes=structs.replace(ml50.kubernetes, encryption="none"))
    assert "lists 4 files" in page(plain)
    (_, bring, _) = steps(plain)["Control-plane machines"].blocks
    assert "enc" not in bring.replace("escrow", "")


def test_counts_are_those_of_the_cluster(ml50: Cluster) -> None:
    found = steps(ml50)
    assert "`mon` 5 daemons in quorum, `osd` 336 of 336 up" in found["Ceph"].text
    assert "64 volumes are `Bound`, 4 pods Ready" in found["MinIO"].text
    assert "lists all 50 nodes" in found["etcd"].text
    assert "Backups that lie outside it: models." in found["The site is gone"].text
    inside = steps(structs.replace(ml50, backups=ml50.ceph_backups))
    assert "**No backup of ml50 lies outside it**" in inside["The site is gone"].text


def test_what_lay_in_the_site_is_promised_to_nobody_who_lost_it(ml50: Cluster) -> None:
    """In case D: a restore and a drill of such a backup would find nothing."""
    told = steps(ml50)["What is older than it should be"].text.splitlines()
    lines = [re.sub("[*`]", "", one) for one in told if one.startswith("- ")]
    within = "; not in case D, for its backup was in the site."
    assert [(one.split(",")[0], one.endswith(within)) for one in lines] == [
        ("- Bucket of Ceph", True),
        ("- Bucket of Ceph", True),
        ("- Bucket of MinIO", False),
        ("- Zabbix", True),
    ]
    first, every = steps(ml50)["Try it, and keep it again"].blocks
    assert re.findall(r"submit (\S+)", first) == ["backup-datasets", "backup-checkpoints", "backup-zabbix"]
    assert "drill-models" in every


def test_a_step_is_what_the_helper_says() -> None:
    one = steps(load("ml50"))["etcd"]
    assert isinstance(one, Step)
    assert one.cases == "AB"
