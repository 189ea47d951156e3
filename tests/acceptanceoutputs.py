"""What the programs of acceptance print: forms as the real ones write them (nccl-tests 2.17, NCCL 2.28, perftest 6),
with the numbers that a test wants. In `components/acceptance_outputs/`: what fio 3.33 printed, without latencies, what
the test of object stores said of a real MinIO, and what the programs of PyTorch said on two CPUs.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from generator.components.acceptance.templates import scripts

FOLDER = Path(__file__).parent / "components/acceptance_outputs"
GOOD_BURN = (FOLDER / "burn-good.txt").read_text()
GOOD_TRAINING = (FOLDER / "training-good.txt").read_text()
GOOD_INFERENCE = (FOLDER / "inference-good.txt").read_text()
GOOD_FIO = (FOLDER / "fio-good.txt").read_text()
GOOD_OBJECTS = (FOLDER / "objects-good.txt").read_text()
GOOD_TORCH = (FOLDER / "torch-good.txt").read_text()
NO_DIRECT = (FOLDER / "fio-no-direct.txt").read_text()


def burnt(count: int) -> str:
    """Return what a node says whose GPUs are all alike."""
    line = GOOD_BURN.splitlines()[1].removeprefix("== gpu ")
    return "".join(f"== gpu {json.dumps(json.loads(line) | {'index': index})}\n" for index in range(count))


def trained(ranks: int) -> str:
    """Return what a training of so many processes says."""
    found = []
    for line in GOOD_TRAINING.splitlines():
        told = json.loads(line.removeprefix("== training "))
        told |= {key: told[key][:1] * ranks for key in ("before", "after", "samples")}
        found.append(f"== training {json.dumps(told)}\n")
    return "".join(found)


def answered(ranks: int) -> str:
    """Return what an inference of so many processes says."""
    one, *_ = json.loads(GOOD_INFERENCE.removeprefix("== inference "))["processes"]
    return f"== inference {json.dumps({'processes': [one] * ranks})}\n"


@contextmanager
def judging(folder: Path) -> Iterator[Any]:
    """What judges, and the scripts beside it, as a step imports them from a folder."""
    for name, text in scripts()["data"].items():
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUN", "acceptance-x7k2p")
        patch.syspath_prepend(str(folder))
        yield import_module("judging")
        for name in scripts()["data"]:
            sys.modules.pop(name.removesuffix(".py"), None)


HEAD = """\
# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8589934592 maxBytes 8589934592 step: 1048576(bytes) warmup iters: 5 iters: 20 \
agg iters: 1 validation: 1 graph: 0
#
# Using devices
"""
TABLE = """\
#
#                                                              out-of-place                       in-place          \

#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong \

#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         \

"""
USING = "[0]mlx5_0:1/IB [1]mlx5_1:1/IB"
WORKER = "acceptance-x7k2p-nccl-worker-"


def nccl(  # noqa: PLR0913 - each is one thing that can be wrong
    busbw: float = 88.4,
    *,
    nodes: int = 2,
    each: int = 8,
    ways: tuple[str, ...] = ("IB/0/GDRDMA", "IB/1/GDRDMA"),
    wrong: int = 0,
    more: str = "",
) -> str:
    """Return what the launcher of an all-reduce says, with NCCL_DEBUG=INFO."""
    ranks = [
        f"#  Rank {rank:2d} Group  0 Pid {40 + rank:6d} on {WORKER}{rank // each} device {rank % each:2d} "
        f"[0000:{27 + rank % each:02x}:00] NVIDIA H100 80GB HBM3\n"
        for rank in range(nodes * each)
    ]
    info = f"{WORKER}0:40:88 [0] NCCL INFO "
    said = [
        f"{info}Bootstrap: Using eth0:10.244.3.17<0>",
        f"{info}NET/IB : Using {USING} [RO]; OOB eth0:10.244.3.17<0>",
        f"{info}Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
        *(f"{info}Channel {number:02d}/0 : 7[7] -> 8[0] [receive] via NET/{way}" for number, way in enumerate(ways)),
        *more.splitlines(),
    ]
    count = nodes * each
    algbw = busbw * count / (2 * (count - 1)) if count > 1 else 1500.0
    time = f"{8589.934592 / algbw * 1000:.0f}"
    figures = f"{time:>9}  {algbw:6.2f}  {busbw:6.2f}  {wrong:6d}"
    return (
        HEAD
        + "".join(ranks)
        + "".join(f"{line}\n" for line in said)
        + TABLE
        + f"  8589934592    2147483648     float     sum      -1{figures}{figures}\n"
        + f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}\n"
        + f"# Avg bus bandwidth    : {busbw:g} \n#\n# Collective test concluded: all_reduce_perf\n\n"
    )


def pair(hca: str, memory: str, gbits: float = 396.19, link: str = "IB", device: str = "") -> str:
    """Return what pod 1, a client of ib_write_bw, says of a link to pod 0, as pairs.sh puts it."""
    line = "-" * 87
    cuda = (
        "Perftest doesn't supports CUDA tests with inline messages: inline size set to 0\n"
        "initializing CUDA\nPicking device No. 0\ncreating CUDA Ctx\nmaking it the current CUDA Ctx\n"
    )
    return (
        f"== pair 0 0 1 {hca} {memory}\n{cuda if memory == 'cuda' else ''}{line}\n"
        f"                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : {device or hca}\n"
        " Number of qps   : 1\t\tTransport type : IB\n Connection type : RC\t\tUsing SRQ      : OFF\n"
        " PCIe relax order: ON\t\tLock-free      : OFF\n ibv_wr* API     : ON\t\tUsing DDP      : OFF\n"
        " TX depth        : 128\n CQ Moderation   : 1\n Mtu             : 4096[B]\n"
        f" Link type       : {link}\n Max inline data : 0[B]\n"
        f" rdma_cm QPs\t : OFF\n Data ex. method : Ethernet\n{line}\n"
        " local address: LID 0x07 QPN 0x0085 PSN 0x8c3b1f RKey 0x1fffbd VAddr 0x007f2c41000000\n"
        f" remote address: LID 0x0b QPN 0x0086 PSN 0x5a11d2 RKey 0x1fffbd VAddr 0x007fd0c3000000\n{line}\n"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        "Conflicting CPU frequency values detected: 1500.000000 != 3300.016000. CPU Frequency is not max.\n"
        f" 8388608    59042            0.00               {gbits:.2f} \t\t     0.005904\n{line}\n== end\n"
    )


def links(server: int, gbits: float = 396.2) -> str:
    """Return what a pod says of all links to the one before it, by both HCAs of a node."""
    said = "".join(pair(hca, memory, gbits) for hca in ("mlx5_0", "mlx5_1") for memory in ("host", "cuda"))
    return said.replace("== pair 0 0 1 ", f"== pair {server % 2} {server} {server + 1} ")


FAILED_PAIR = """\
== pair 0 0 1 mlx5_0 host
 local address: LID 0x07 QPN 0x0085 PSN 0x8c3b1f RKey 0x1fffbd VAddr 0x007f2c41000000
 Completion with error at client
 Failed status 12: wr_id 0 syndrom 0x81
scnt=128, ccnt=0
== end
"""
ALONE = """\
== pair 0 0 1 mlx5_0 host
Couldn't connect to acceptance-x7k2p-pairs-0.acceptance-jobs:18516
Unable to open file descriptor for socket connection Unable to init the socket connection
== end
"""
