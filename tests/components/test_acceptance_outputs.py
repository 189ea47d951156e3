"""What the steps of acceptance make of what the programs print: good, slow, broken, cut off, by another way."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from acceptanceoutputs import (
    ALONE,
    FAILED_PAIR,
    GOOD_FIO,
    GOOD_OBJECTS,
    GOOD_TORCH,
    NO_DIRECT,
    USING,
    judging,
    nccl,
    pair,
)

HCAS = ["mlx5_0", "mlx5_1"]
POOL = {
    "pool": "gpu",
    "gpus": 8,
    "count": 2,
    "pods": 2,
    "hcas": HCAS,
    "infiniband": True,
    "shared": False,
    "stores": {"minio": {"put-mbytes": 20.0, "get-mbytes": 20.0}},
    "parts": {"nccl": 0.9, "pairs": 0.9, "scratch": 0.9, "shared": 0.7, "objects": 0.7},
}
BOUNDS = {"nccl-gbytes": 80.0, "link-gbits": 380.0, "read-gbytes": 0.5, "write-gbytes": 0.5}


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The scripts as a step imports them."""
    with judging(tmp_path_factory.mktemp("scripts")) as found:
        yield found


def judged(step: Any, test: str, *texts: str, before: tuple[Any, ...] = (), **pool: Any) -> tuple[Any, list[str]]:
    """Return figures and what is wrong, by what each pod said."""
    heard = [step.Said(f"gpu-{place + 1}", place, text) for place, text in enumerate(texts)]
    result = step.judge(test, POOL | pool, heard, BOUNDS, list(before))
    return result["figures"], result["wrong"]


def test_a_good_all_reduce_passes(step: Any) -> None:
    assert judged(step, "nccl", nccl(88.4)) == ({"all-reduce of 16 GPUs": {"nccl-gbytes": 88.4}}, [])


def test_a_slow_all_reduce_is_told_with_the_threshold(step: Any) -> None:
    _, wrong = judged(step, "nccl", nccl(47.9))
    assert wrong == ["all-reduce of 16 GPUs: 47.9 GB/s of bus bandwidth, less than 80 (nccl-gbytes)"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (nccl(ways=("Socket/0", "Socket/0")), "data went by Socket between nodes, not by InfiniBand"),
        (nccl(ways=("IB/0/GDRDMA", "Socket/0")), "data went by Socket between nodes, not by InfiniBand"),
        (nccl(ways=("IB/0", "IB/1")), "InfiniBand without GPUDirect RDMA"),
        (nccl(ways=("IB/0/GDRDMA",)), "not used: mlx5_1"),
        (nccl(ways=()), "no line says by which way data went"),
        (nccl(wrong=3), "6 values are wrong sums"),
        (nccl(each=4), "8 of 16 GPUs took part"),
    ],
)
def test_what_is_wrong_fails_whatever_the_speed(step: Any, said: str, told: str) -> None:
    _, wrong = judged(step, "nccl", said.replace("88.4", "400.0"))
    assert any(told in one for one in wrong), wrong


JOINED = "[0]={[0] mlx5_0:1/IB, [1] mlx5_1:1/IB}"


@pytest.mark.parametrize(
    ("way", "using"),
    [
        pytest.param("IBext_v8/0/GDRDMA", JOINED, id="NCCL 2.21 and the plugin of HPC-X"),
        pytest.param("IB/2/GDRDMA", USING, id="NCCL 2.23 and newer"),
    ],
)
def test_ports_of_a_card_that_are_joined_are_all_used(step: Any, way: str, using: str) -> None:
    assert judged(step, "nccl", nccl(ways=(way,)).replace(USING, using))[1] == []


def test_a_joined_card_beside_which_another_is_not_used_is_told(step: Any) -> None:
    said = nccl(ways=("IB/0/GDRDMA",)).replace(USING, f"{JOINED} [1]={{[2] mlx5_2:1/IB, [3] mlx5_3:1/IB}}")
    _, wrong = judged(step, "nccl", said, hcas=[*HCAS, "mlx5_2", "mlx5_3"])
    assert wrong == ["not used: mlx5_2, mlx5_3"]


def torch(step: Any, said: str, **pool: Any) -> tuple[Any, list[str]]:
    """Judge what the pods of an all-reduce by PyTorch say: all in the log of the first, NCCL's in those of all."""
    return judged(step, "nccl", said, "NCCL version 2.28.7+cuda13.0\n", **{"gpus": 1, "infiniband": False, **pool})


def test_an_all_reduce_by_pytorch_is_judged_alike(step: Any) -> None:
    before = tuple({"figures": {"all-reduce of 2 GPUs": {"nccl-gbytes": 0.1}}, "wrong": []} for _ in range(2))
    figures, wrong = torch(step, GOOD_TORCH)
    (measured,) = figures["all-reduce of 2 GPUs"].values()
    assert wrong == [f"all-reduce of 2 GPUs: {measured:g} GB/s of bus bandwidth, less than 80 (nccl-gbytes)"]
    average = f"# Avg bus bandwidth    : {measured:g}"
    fast = GOOD_TORCH.replace(average, "# Avg bus bandwidth    : 88.4")
    assert fast != GOOD_TORCH
    assert torch(step, fast, before=before) == ({"all-reduce of 2 GPUs": {"nccl-gbytes": 88.4}}, [])
    *_, row, bounds, _ = fast.splitlines()
    for good, bad, told in (
        (row, row[:-1] + "7", "7 values are wrong sums"),
        (bounds, bounds.replace("0 OK", "9 FAILED"), "9 values are wrong sums"),
        ("on run-nccl-1", "", "1 of 2 GPUs took part"),
        ("# Avg", "", "it ended before its result"),
    ):
        assert good in fast
        assert any(told in one for one in torch(step, fast.replace(good, bad))[1]), told
    lost = "".join(fast.splitlines(keepends=True)[:3])
    died = lost + "=====\nprocess 1: RuntimeError: NCCL error: unhandled system error\n"
    assert torch(step, lost, infiniband=True)[1][0].startswith("no line says by which way")
    assert judged(step, "nccl", died, gpus=1, infiniband=False)[1] == [
        "it ended before its result: process 1: RuntimeError: NCCL error: unhandled system error"
    ]


def test_ways_of_plugins_are_infiniband(step: Any) -> None:
    plugin = nccl(ways=("NCCL RDMA Plugin v10/0/GDRDMA", "NCCL RDMA Plugin v10/1/GDRDMA/Shared"))
    assert judged(step, "nccl", plugin)[1] == []


def test_on_one_node_no_way_is_looked_for(step: Any) -> None:
    assert judged(step, "nccl", nccl(462, nodes=1, ways=()), count=1)[1] == []


def test_without_infiniband_sockets_are_the_way(step: Any) -> None:
    assert judged(step, "nccl", nccl(ways=("Socket/0",)), infiniband=False, hcas=[])[1] == []


def test_an_all_reduce_that_broke_off_is_told_with_its_reason(step: Any) -> None:
    whole = nccl(
        more="w:1:1 [0] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory"
    )
    figures, wrong = judged(step, "nccl", whole[: whole.index("# Out of bounds")])
    assert figures == {}
    assert wrong == ["it ended before its result: Call to ibv_reg_mr failed with error Cannot allocate memory"]
    assert judged(step, "nccl", "")[1] == ["it ended before its result: it said nothing"]


def test_processes_that_ran_alone_are_told(step: Any) -> None:
    """Built without MPI each of 16 processes is a test of its own GPU, and sums nothing."""
    alone = nccl(0.0, nodes=1, each=1, ways=())
    _, wrong = judged(step, "nccl", alone * 16)
    assert "1 of 16 GPUs took part" in wrong
    assert any("built with MPI=1" in one for one in wrong)


def test_lines_that_mpirun_marks_are_read(step: Any) -> None:
    marked = "".join(f"[1,0]<stdout>:{line}\n" for line in nccl().splitlines())
    assert judged(step, "nccl", marked) == judged(step, "nccl", nccl())
    assert judged(step, "nccl", marked.replace("NET/IB/0/GDRDMA", "NET/Socket/0"))[1] != []


def links(**more: Any) -> str:
    return "".join(pair(hca, memory, **more) for hca in HCAS for memory in ("host", "cuda"))


def test_good_links_pass(step: Any) -> None:
    figures, wrong = judged(step, "pairs", "server: nothing of interest\n", links())
    assert wrong == []
    assert figures["gpu-1 - gpu-2 mlx5_1 cuda"] == {"link-gbits": 396.19}
    assert len(figures) == 4


def test_a_slow_link_is_told_by_name(step: Any) -> None:
    said = pair("mlx5_0", "cuda", 190.2)
    _, wrong = judged(step, "pairs", "", links().replace(pair("mlx5_0", "cuda"), said))
    assert wrong == ["gpu-1 - gpu-2 mlx5_0 cuda: 190.2 Gbit/s, less than 380 (link-gbits)"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (FAILED_PAIR, "Completion with error at client; Failed status 12: wr_id 0 syndrom 0x81"),
        (ALONE, "Couldn't connect to acceptance-x7k2p-pairs-0.acceptance-jobs:18516; Unable to open"),
        (pair("mlx5_0", "host", link="Ethernet"), "the link is Ethernet, not IB"),
        (pair("mlx5_0", "host", device="mlx5_4"), "it measured mlx5_4"),
        (pair("mlx5_0", "host").partition(" #bytes")[0], "it was stopped"),
        (pair("mlx5_0", "host").replace("[Gb/sec]", "[MB/sec]"), "it counts in MB/sec"),
        ("", "was not measured"),
    ],
)
def test_links_that_were_not_measured_fail(step: Any, said: str, told: str) -> None:
    _, wrong = judged(step, "pairs", "", links().replace(pair("mlx5_0", "host"), "") + said)
    assert len(wrong) == 1
    assert wrong[0].startswith("gpu-1 - gpu-2 mlx5_0 host: ")
    assert told in wrong[0]


def test_a_link_of_each_two_neighbours_is_asked_for(step: Any) -> None:
    _, wrong = judged(step, "pairs", "", links(), "", count=3)
    assert sorted(wrong) == sorted(
        f"gpu-2 - gpu-3 {hca} {memory}: was not measured" for hca in HCAS for memory in ("host", "cuda")
    )


def test_good_disks_pass(step: Any) -> None:
    figures, wrong = judged(step, "scratch", GOOD_FIO, GOOD_FIO)
    assert wrong == []
    assert set(figures) == {"gpu-1 disk-0", "gpu-2 disk-0"}
    assert figures["gpu-1 disk-0"] == {
        "write-gbytes": 2.198, "read-gbytes": 1.241, "random-writes": 205381.238, "random-reads": 142526.421,
    }  # fmt: skip


def test_a_slow_disk_is_told(step: Any) -> None:
    bounds = {"read-gbytes": 5.5}
    heard = [step.Said("gpu-1", 0, GOOD_FIO)]
    wrong = step.judge("scratch", POOL | {"pods": 1}, heard, bounds, [])["wrong"]
    assert wrong == ["gpu-1 disk-0: 1.241 GB/s read, less than 5.5 (read-gbytes)"]


def test_a_disk_that_fio_cannot_use_is_told_with_fio_s_words(step: Any) -> None:
    figures, wrong = judged(step, "scratch", NO_DIRECT, GOOD_FIO)
    assert list(figures) == ["gpu-1 disk-0", "gpu-2 disk-0"]
    assert wrong[0].startswith("gpu-1 disk-0: write: error 22, read: error 22")
    assert "Invalid argument" in wrong[0]


def test_what_fio_could_not_end_is_told(step: Any) -> None:
    cut = GOOD_FIO[: len(GOOD_FIO) // 2]
    assert judged(step, "scratch", cut, GOOD_FIO)[1] == ["gpu-1 disk-0: it was stopped before fio had ended"]
    ended = cut + "\n== end\n"
    assert judged(step, "scratch", ended, GOOD_FIO)[1][0].startswith("gpu-1 disk-0: ")
    assert judged(step, "scratch", GOOD_FIO)[1] == ["1 of 2 pods said something"]
    assert judged(step, "scratch", "the image has no fio\n", GOOD_FIO)[1] == ["gpu-1: the image has no fio"]


def test_of_what_is_shared_the_slowest_counts_and_only_what_was_before(step: Any) -> None:
    slower = GOOD_FIO.replace('"iops" : 142526.420738', '"iops" : 42526.420738')
    figures, wrong = judged(step, "shared", slower, GOOD_FIO, shared=True)
    assert wrong == []
    heard = [step.Said("gpu-1", 0, GOOD_FIO)]
    fast = {"read-gbytes": 5.5}
    assert step.judge("shared", POOL | {"shared": True, "pods": 1}, heard, fast, [])["wrong"] == [], "no scratch disk"
    assert figures["disk-0"]["random-reads"] == 42526.421
    good = [{"wrong": [], "figures": {"disk-0": {"random-reads": value}}} for value in (90e3, 100e3, 110e3)]
    bad = {"wrong": ["slow"], "figures": {"disk-0": {"random-reads": 1.0}}}
    _, wrong = judged(step, "shared", GOOD_FIO, slower, shared=True, before=(*good, bad))
    assert wrong == [
        "disk-0: 42526.4 reads of 4 KiB a second, less than 7e+04, by what it reached before (random-reads)"
    ]
    assert judged(step, "shared", GOOD_FIO, slower, shared=True, before=(good[0],))[1] == [], "one run is no measure"


def test_hardware_is_held_to_what_it_reached_before(step: Any) -> None:
    before = tuple({"wrong": [], "figures": {"all-reduce of 16 GPUs": {"nccl-gbytes": 96.0}}} for _ in range(2))
    assert judged(step, "nccl", nccl(88.4), before=before)[1] == []
    _, wrong = judged(step, "nccl", nccl(86.0), before=before)
    assert "less than 86.4, by what it reached before" in wrong[0]


def test_a_good_store_passes_by_its_slowest_client(step: Any) -> None:
    slower = GOOD_OBJECTS.replace("2.477", "4.954")
    figures, wrong = judged(step, "objects", GOOD_OBJECTS, slower)
    assert (figures, wrong) == ({"minio": {"put-mbytes": 91.2, "get-mbytes": 67.7}}, [])


def test_a_slow_store_is_told_by_its_drives_its_past_or_what_the_run_says(step: Any) -> None:
    slow = GOOD_OBJECTS.replace("0.736", "7.36")
    _, wrong = judged(step, "objects", slow, slow)
    assert wrong == ["minio: 9.1 MB/s written, less than 20 (put-mbytes)"]
    past = [{"figures": {"minio": {"put-mbytes": 200.0, "get-mbytes": 100.0}}, "wrong": []}] * 2
    _, wrong = judged(step, "objects", GOOD_OBJECTS, GOOD_OBJECTS, before=tuple(past))
    assert wrong == ["minio: 91.2 MB/s written, less than 140, by what it reached before (put-mbytes)"]
    heard = [step.Said("gpu-1", 0, GOOD_OBJECTS)]
    assert step.judge("objects", POOL | {"pods": 1}, heard, {"get-mbytes": 300.0}, [])["wrong"] == [
        "minio: 135.5 MB/s read, less than 300 (get-mbytes)"
    ]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (GOOD_OBJECTS.replace('"different": 0', '"different": 2'), "2 of 16 objects read back other than they were"),
        (GOOD_OBJECTS.replace('"failed": 0, "errors": []', '"failed": 3, "errors": ["PUT: HTTP 503 SlowDown"]'),
         "3 requests failed: PUT: HTTP 503 SlowDown"),
        (GOOD_OBJECTS.replace('2.477, "objects": 16', '2.477, "objects": 9'), "7 of 16 objects were not read back"),
        (GOOD_OBJECTS.replace('"left": 0', '"left": 4'), "4 objects could not be taken away"),
        ("== store minio\nerror: GET: HTTP 403 AccessDenied\n== end\n", "error: GET: HTTP 403 AccessDenied"),
        ("== store minio\n", "it was stopped before its result"),
        (GOOD_OBJECTS[:90], "it was stopped before its result"),
        (GOOD_OBJECTS[:90] + "\n== end\n", '{"put": '),
        ("python3: can't open file\n", "minio not tried: python3: can't open file"),
        ("", "minio not tried: it said nothing"),
    ],
)  # fmt: skip
def test_a_store_that_is_broken_or_whose_result_is_cut_is_told(step: Any, said: str, told: str) -> None:
    _, wrong = judged(step, "objects", GOOD_OBJECTS, said)
    assert any(told in one for one in wrong), wrong


def test_a_pod_that_is_missing_is_told(step: Any) -> None:
    assert judged(step, "objects", GOOD_OBJECTS)[1] == ["1 of 2 pods said something"]


def tries(failover: Any, *parts: tuple[float, str, str]) -> list[Any]:
    """Return requests ten times a second: seconds of each part, who answered, or why nobody did."""
    found, at = [], 0
    for seconds, by, why in parts:
        for _ in range(round(seconds * 10)):
            found.append(failover.Try(at / 10, at / 10 + 0.02, by, why))
            at += 1
    return found


AWAY = "no answer in 2 s"


@pytest.mark.parametrize(
    ("parts", "watched", "fell", "told"),
    [
        (((5, "cp-1", ""), (3.5, "", AWAY), (60, "cp-2", "")), (1, ""), [], ""),
        (((5, "cp-1", ""), (40, "", AWAY), (60, "cp-2", "")), (1, ""), [], "nobody answered for 40.1 s, more than 30"),
        (((5, "cp-1", ""), (3, "", AWAY), (60, "cp-1", "")), (1, ""), [], "cp-1 has it still, or again"),
        (((5, "cp-1", ""), (301, "", AWAY)), (1, "it was not up at the end"), [], "nobody has answered for 301 s"),
        (((5, "cp-1", ""), (3, "", AWAY), (60, "cp-2", "")), (1, "HTTP 410"), [], "a watch could not be taken up"),
        (((5, "cp-1", ""), (3, "", AWAY), (60, "cp-2", "")), (1, ""), ["gpu-3"], "gpu-3 became NotReady, or Ready"),
        (((9, "", AWAY),), (0, ""), [], "nobody answered at all"),
    ],
)
@pytest.mark.usefixtures("step")
def test_a_move_of_the_address_is_judged_by_its_longest_gap(
    parts: Any, watched: Any, fell: list[str], told: str
) -> None:
    failover = import_module("failover")
    asked = tries(failover, *parts)
    result = failover.judge(asked, asked[-1].ended, watched, fell, 30.0)
    if told:
        assert any(told in one for one in result["wrong"]), result
    else:
        (values,) = result["figures"].values()
        assert (result["wrong"], list(result["figures"])) == ([], ["cp-1 to cp-2"])
        assert values == {"vip-seconds": 3.6, "failed-requests": 35.0, "watch-breaks": 1.0}


@pytest.mark.usefixtures("step")
def test_a_pod_that_stood_still_has_measured_nothing() -> None:
    failover = import_module("failover")
    asked = tries(failover, (5, "cp-1", ""), (9, "cp-2", ""))
    cut = [*asked[:40], *asked[70:]]
    assert "for 3.1 s nothing was asked" in failover.judge(cut, cut[-1].ended, (0, ""), [], 30.0)["wrong"][0]
    assert failover.judge(asked, asked[-1].ended + 8, (0, ""), [], 30.0)["wrong"], "it was cut off at its end"
