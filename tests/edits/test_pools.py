"""Pools that come, other hardware, and what the cluster gains."""

import pytest
from nodelab import errors, lab, source

from generator.edits.gains import gains
from generator.edits.hardware import Change, disk, set_nodes
from generator.edits.nodes import Wanted
from generator.edits.pools import add_pool
from generator.errors import UsageError

LAB = lab()
NVME = {"use": "scratch", "model": "M1", "count": 2, "size": "1T"}
MORE = {"use": "scratch", "model": "M2", "size": "2T"}


def pooled(text: str, name: str, like: str, nodes: list[str], change: Change | None = None) -> str:
    return add_pool(source(text), name, like, Wanted(names=nodes), change or Change())


def changed(text: str, change: Change, names: tuple[str, ...] = ("gpu-001",), rack: str | None = None) -> str:
    return set_nodes(source(text), names, change, rack)


def test_a_pool_is_copied_with_its_comments_and_has_nodes_of_its_own() -> None:
    new = pooled(LAB, "gpu-big", "gpu", ["big-1", "big-2"], Change(gpu_model="B200", gpu_memory="180Gi", cpu=96))
    assert new.startswith(LAB[: LAB.index("  nodes:")])
    pool, nodes = new[LAB.index("  nodes:") :].split("  nodes:")
    assert pool == (
        LAB[LAB.index("    gpu:   #") : LAB.index("  nodes:")]
        .replace("gpu:   #", "gpu-big:   #")
        .replace("cpu: 64", "cpu: 96")
        .replace("H100", "B200")
        .replace("80Gi", "180Gi")
    )
    assert "    - {name: big-2, pool: gpu-big, address: 10.10.0.103, rack: r1, port: 3}\n  # the end\n" in nodes
    assert errors(new) == []


def test_a_pool_like_one_of_storage_is_storage_too() -> None:
    disks = "{hardware: {cpu: 16, memory: 64Gi, disks: [{use: ceph, model: M, count: 4, size: 8T}]}}"
    text = LAB.replace("    gpu:   #", f"    osd: {disks}\n    gpu:   #")
    text = text.replace("    # GPUs", "    - {name: osd-1, pool: osd, address: 10.10.0.21, rack: r1}\n    # GPUs")
    ceph = text + "  storage:\n    ceph: {pools: [osd]}   # here\n"
    assert "    ceph: {pools: [osd, osd-2]}   # here\n" in pooled(ceph, "osd-2", "osd", ["osd-2"])
    lines = text + "  storage:\n    ceph:\n      pools:\n      - osd   # one\n"
    assert "      - osd   # one\n      - osd-2\n" in pooled(lines, "osd-2", "osd", ["osd-2"])
    minio = text + "  storage:\n    objects: {pool: osd, host: m.lab.example.org}\n"
    grown = pooled(minio, "osd-2", "osd", ["osd-2"])
    assert "objects: {pool: osd, host: m.lab.example.org, expansions: [osd-2]}" in grown
    assert "expansions: [osd-2, osd-3]" in pooled(grown, "osd-3", "osd", ["osd-3"])


@pytest.mark.parametrize(
    ("name", "like", "nodes", "words"),
    [
        ("gpu", "gpu", ["a"], "pool gpu is there already, in line 32: `gen node add NAME --like NODE` adds to it"),
        ("x", "gpus", ["a"], "there is no pool gpus in .*; did you mean gpu"),
        ("X", "gpu", ["a"], "`X` cannot be a pool's name"),
        ("x", "gpu", ["cp-1"], "cp-1 is there already"),
    ],
)
def test_a_pool_that_cannot_be_is_one_sentence(name: str, like: str, nodes: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        pooled(LAB, name, like, nodes)


def test_other_gpus_are_written_whole_where_the_pool_says_them() -> None:
    new = changed(LAB, Change(gpus=4))
    assert new == LAB.replace("port: 1}", "port: 1, hardware: {gpu: {model: H100, count: 4, memory: 80Gi}}}")
    assert changed(new, Change(gpus=8, memory="1Ti")) == new.replace("count: 4", "count: 8").replace(
        "}}}", "}, memory: 1Ti}}"
    )
    with pytest.raises(UsageError, match="there are no GPUs yet, so say all of them: --gpu-model, --gpu-memory too"):
        changed(LAB, Change(gpus=4), ("cp-1",))
    with pytest.raises(UsageError, match="say what is other: gen node set gpu-001 --gpus 8"):
        changed(LAB, Change())
    assert changed(LAB, Change(), ("cp-1", "cp-3"), rack="r9") == LAB.replace("rack: r1}   #", "rack: r9}   #").replace(
        "rack: r3", "rack: r9"
    )


def test_more_disks_of_a_model_are_counted_and_others_are_listed() -> None:
    one = changed(LAB, Change(disks=(NVME,)))
    assert "hardware: {disks: [{use: scratch, model: M1, count: 2, size: 1T}]}}" in one
    two = changed(one, Change(disks=(NVME, MORE)))
    assert "{disks: [{use: scratch, model: M1, count: 4, size: 1T}, {use: scratch, model: M2, size: 2T}]}" in two
    three = changed(two, Change(disks=(MORE, MORE)))
    assert "{use: scratch, model: M2, size: 2T, count: 3}]" in three
    assert errors(two) == []


def test_disks_of_the_pool_are_written_whole_with_what_comes() -> None:
    hcas = "hcas: [mlx5_0, mlx5_1]"
    text = LAB.replace(hcas, f"{hcas}\n        disks: [{{use: scratch, path: p, size: 1T}}]")
    new = changed(text, Change(disks=(NVME,)))
    assert "disks: [{use: scratch, path: p, size: 1T}, {use: scratch, model: M1, count: 2, size: 1T}]}}" in new


def test_a_disk_is_read_as_the_file_has_it() -> None:
    assert disk("{use: ceph, model: M, count: 2, size: 7680G}") == {
        "use": "ceph", "model": "M", "count": 2, "size": "7680G"
    }  # fmt: skip
    for text in ("{count: two}", "{count: true}", "ceph", "{use: ceph", "{a: 1}\nb: 2 3: 4", ""):
        with pytest.raises(UsageError, match="write it as in the file"):
            disk(text)


def test_gains_are_the_figures_that_differ() -> None:
    before, after = source(LAB).cluster, source(pooled(LAB, "more", "gpu", ["m-1"])).cluster
    told = {gain.what: (gain.before, gain.after) for gain in gains(before, after)}
    assert told["nodes"] == ("4", "5")
    assert told["GPUs"] == ("8", "16")
    assert told["nvidia.com/gpu in more"] == ("none", "8")
    assert told["free ports of leaf-01-1"] == ("31", "30")
    assert told["nodes that podCIDR has room for"] == ("508", "507")
    assert "nvidia.com/gpu in gpu" not in told
    assert gains(before, before) == []
