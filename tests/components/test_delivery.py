"""What brings the node files to the machines: the same files, and nobody's secrets or disks."""

from keyword import iskeyword
from typing import Any

import pytest
import yaml
from msgspec import structs

from generator.components.kubeadm.delivery import FOLDER
from generator.layout.bootstrap import bootstrap
from generator.model.cluster import Cluster, Endpoint


def files(cluster: Cluster, *ways: str, by: str | None = None) -> dict[str, bytes]:
    kubernetes = structs.replace(cluster.kubernetes, deliver=ways)
    if by:
        kubernetes = structs.replace(kubernetes, endpoint=Endpoint(address="10.10.0.10:6443", by=by))  # type: ignore[arg-type]
    found = bootstrap(structs.replace(cluster, kubernetes=kubernetes))
    return {path.removeprefix(f"clusters/{cluster.name}/bootstrap/"): content for path, content in found.items()}


def user_data(cluster: Cluster, node: str, by: str | None = None) -> dict[str, Any]:
    text = files(cluster, "cloud-init", by=by)[f"cloud-init/{node}.yaml"].decode()
    assert text.startswith("#cloud-config\n# Written by gen. ")
    return dict(yaml.load(text, yaml.CSafeLoader))


def written(cluster: Cluster, node: str, by: str | None = None) -> dict[str, dict[str, str]]:
    return {one["path"].removeprefix(f"{FOLDER}/"): one for one in user_data(cluster, node, by)["write_files"]}


def test_nothing_is_delivered_unasked(ml50: Cluster) -> None:
    assert not [path for path in files(ml50) if path.startswith(("ansible", "cloud-init"))]
    assert "ansible" not in files(ml50)["README.md"].decode()


def test_each_way_has_its_files_and_its_words_in_the_readme(ml50: Cluster) -> None:
    ansible, cloud = files(ml50, "ansible"), files(ml50, "cloud-init")
    assert {path for path in ansible if path not in files(ml50)} == {"ansible/inventory.yaml", "ansible/playbook.yaml"}
    assert {path for path in cloud if path not in files(ml50)} == {
        f"cloud-init/{one.name}.yaml" for one in ml50.machines
    }
    assert "ansible-playbook -i" in ansible["README.md"].decode()
    assert "`cloud-init/NODE.yaml`" in cloud["README.md"].decode()


def test_the_inventory_has_every_node_with_its_address_and_pool_and_groups_of_legal_names(ml50: Cluster) -> None:
    inventory = yaml.load(files(ml50, "ansible")["ansible/inventory.yaml"], yaml.CSafeLoader)["all"]
    assert inventory["hosts"] == {
        one.name: {"ansible_host": str(one.address), "node_pool": one.pool} for one in ml50.machines
    }
    groups = {name: set(group["hosts"]) for name, group in inventory["children"].items()}
    assert groups["control_plane"] == {"cp-1", "cp-2", "cp-3"}
    assert groups["pool_gpu_inference"] == {"gpu-13", "gpu-14", "gpu-15"}
    assert groups["disks"] == {one.name for one in ml50.machines if one.name.startswith(("gpu", "nas"))}
    assert all(name.isidentifier() for name in groups)


def test_the_playbook_is_one_that_the_ansible_of_distributions_takes(ml50: Cluster) -> None:
    """Before ansible-core 2.19 a play refuses Python's keywords as names, and `find` knows no `checksum_algorithm`; the
    playbook was run with 2.14 and 2.16 as well.
    """
    playbook = files(ml50, "ansible")["ansible/playbook.yaml"]
    names = [name for play in yaml.load(playbook, yaml.CSafeLoader) for name in play["vars"]]
    assert "listed" in names
    assert not [name for name in names if iskeyword(name) or not name.isidentifier()]
    (find,) = (
        task["ansible.builtin.find"]
        for task in yaml.load(playbook, yaml.CSafeLoader)[0]["tasks"]
        if "ansible.builtin.find" in task
    )
    assert find["get_checksum"] is True
    assert "checksum_algorithm" not in find


def test_user_data_holds_the_very_files_of_the_folder(ml50: Cluster) -> None:
    folder = files(ml50)
    for path, one in written(ml50, "gpu-01").items():
        assert one["content"].encode() == folder[path]
        assert one["permissions"] == ("0755" if path.endswith(".sh") else "0644")


def test_user_data_holds_what_a_worker_needs_and_nothing_of_others(ml50: Cluster) -> None:
    found = written(ml50, "gpu-01")
    others = {path for path in found if "/all/" not in path and "/pools/gpu-training/" not in path}
    assert others == {
        "node/prepare.sh",
        "node/disks/mount.sh",
        "node/disks/gpu-01.list",
        "kubeadm/join-gpu-01.yaml",
        "kubeadm/upgrade.yaml",
    }
    every = [path for path in files(ml50) if path.startswith(("node/all/", "node/pools/gpu-training/"))]
    assert set(every) <= set(found)


@pytest.mark.parametrize(
    ("by", "holder"), [("kube-vip", "endpoint/kube-vip.yaml"), ("keepalived", "endpoint/keepalived-cp-2.conf")]
)
def test_user_data_of_the_control_plane_holds_what_makes_and_holds_its_address(
    ml50: Cluster, by: str, holder: str
) -> None:
    found = written(ml50, "cp-2", by)
    assert {"kubeadm/init.yaml", "kubeadm/audit-policy.yaml", "node/encryption-key.sh", holder} <= set(found)
    assert [path for path in found if path.startswith("endpoint/keepalived-")] == [holder] * (by == "keepalived")


def test_user_data_starts_one_script_names_the_machine_and_makes_no_file_system(ml50: Cluster) -> None:
    data = user_data(ml50, "gpu-01")
    assert data["runcmd"] == [[f"{FOLDER}/node/prepare.sh", "gpu-training"]]
    assert set(data) == {"hostname", "write_files", "runcmd"}
    assert data["hostname"] == "gpu-01"


def test_the_playbook_formats_only_when_it_is_told_to(ml50: Cluster) -> None:
    plays = yaml.load(files(ml50, "ansible")["ansible/playbook.yaml"], yaml.CSafeLoader)
    acting = [task for play in plays for task in play["tasks"] if "--yes" in str(task)]
    told, same = (
        "(format_disks | default(false) | bool) and (todo | length > 0)",
        "machine.stdout == inventory_hostname",
    )
    assert [task["when"] for task in acting] == [f"{told} and {same}"]


@pytest.mark.parametrize("by", ["kube-vip", "keepalived"])
def test_user_data_holds_no_file_of_a_node_whose_name_ends_alike(ml50: Cluster, by: str) -> None:
    first, second, *others = ml50.machines
    longer = structs.replace(ml50, machines=(first, structs.replace(second, name=f"x-{first.name}"), *others))
    assert not [path for path in written(longer, first.name, by) if f"x-{first.name}" in path]
    assert f"kubeadm/join-x-{first.name}.yaml" in written(longer, f"x-{first.name}", by)
