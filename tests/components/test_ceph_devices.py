import re
import string

from reference import with_hardware

from generator.components.ceph_cluster.devices import device_classes, storage_node
from generator.model.cluster import Cluster
from generator.model.nodes import Disk, Machine
from generator.model.quantity import Quantity

SIZE = Quantity.parse("8T")


def machine(ml50: Cluster, *disks: Disk) -> Machine:
    return with_hardware(next(one for one in ml50.machines if one.pool == "cpu"), disks=disks)


def test_classes_are_those_of_the_disks_the_fastest_first(ml50: Cluster) -> None:
    assert device_classes(ml50) == ("nvme", "hdd")


def test_disks_by_id_and_path_say_their_class_each(ml50: Cluster) -> None:
    one = Disk(use="ceph", size=SIZE, id="nvme-A_1")
    two = Disk(use="ceph", size=SIZE, class_="hdd", path="pci-0000:3b:00.0-sas-phy1-lun-0")
    node = storage_node(machine(ml50, one, two))
    assert node["devices"] == [
        {"name": "/dev/disk/by-id/nvme-A_1", "config": {"deviceClass": "nvme"}},
        {"name": "/dev/disk/by-path/pci-0000:3b:00.0-sas-phy1-lun-0", "config": {"deviceClass": "hdd"}},
    ]
    assert "devicePathFilter" not in node


def test_a_filter_of_one_disk_takes_no_partition_and_no_longer_name(ml50: Cluster) -> None:
    taken = re.compile(storage_node(machine(ml50, Disk(use="ceph", size=SIZE, model="M")))["devicePathFilter"])
    assert taken.search("/dev/disk/by-id/nvme-M_S1")
    assert not taken.search("/dev/disk/by-id/nvme-M_S1-part1")
    assert not taken.search("/dev/disk/by-id/nvme-XM_S1")


def test_a_list_and_a_filter_never_meet_on_a_node(ml50: Cluster) -> None:
    mixed = (Disk(use="ceph", size=SIZE, id="nvme-A.1"), Disk(use="ceph", size=SIZE, model="M"))
    node = storage_node(machine(ml50, *mixed))
    assert "devices" not in node
    taken = re.compile(node["devicePathFilter"])
    assert taken.search("/dev/disk/by-id/nvme-A.1")
    assert taken.search("/dev/disk/by-id/nvme-M_S6CKNE0T1")
    assert not taken.search("/dev/disk/by-id/nvme-Ax1")


def test_the_filter_of_ml50_takes_its_two_models_and_nothing_else(ml50: Cluster) -> None:
    node = storage_node(next(one for one in ml50.machines if one.pool == "cpu"))
    assert "config" not in node
    taken = re.compile(node["devicePathFilter"])
    nvme, hdd = "nvme-SAMSUNG_MZQL27T6HBLA-00A07_S6CKNE0T123456", "ST20000NM002D-3KT133_ZVTA1B2C"
    links = (nvme, f"ata-{hdd}", f"scsi-{hdd}", "ata-ST20000NM002D-3KT133_WD-WX12AB34")
    assert all(taken.search(f"/dev/disk/by-id/{link}") for link in links)
    others = (
        f"{nvme}-part1",
        f"ata-{hdd}-part2",
        "nvme-SAMSUNG_MZQL27T6HBLA-00A08_S6CKNE0T123456",
        "nvme-SAMSUNG_MZQL23T8HCLS-00A07_S6CKNE0T123456",
        # Rook would give these the class of the other model's pool.
        f"nvme-{hdd}",
        f"ata-{nvme.removeprefix('nvme-')}",
    )
    assert not any(taken.search(f"/dev/disk/by-id/{link}") for link in others)
    assert not taken.search("/dev/sda")


def test_the_filter_is_written_in_what_go_understands(ml50: Cluster) -> None:
    disks = (Disk(use="ceph", size=SIZE, model="A.B+(C)"), Disk(use="ceph", size=SIZE, path="pci-0:1.0-x"))
    pattern = storage_node(machine(ml50, *disks))["devicePathFilter"]
    # RE2 has no look-around and no back references; it takes a backslash before punctuation only.
    assert "(?" not in pattern
    assert all(pattern[found.end()] in string.punctuation for found in re.finditer(r"\\", pattern))
    assert re.search(pattern, "/dev/disk/by-id/ata-A.B+(C)_S1")


def test_one_class_on_a_node_is_said_there(ml50: Cluster) -> None:
    disks = tuple(Disk(use="ceph", size=SIZE, class_="ssd", model=model) for model in ("A", "B"))
    node = storage_node(machine(ml50, *disks))
    assert node["config"] == {"deviceClass": "ssd"}
    assert re.search(node["devicePathFilter"], "/dev/disk/by-id/nvme-B_S1")
