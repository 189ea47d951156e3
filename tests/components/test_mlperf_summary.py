"""What LoadGen says of a run, read and judged: summaries as v5.0 prints them, whole, cut short, of another run."""

import re
from pathlib import Path

import pytest
from mlperf_logs import READS, SUMMARIES, Pod, wanted
from mlperf_logs import summary as text

from generator.components.mlperf.jobs import plan
from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.mlperf import MlperfRun

OFFLINE = MlperfRun(name="offline", model="resnet50", scenario="Offline", queries_per_second=18500)
SERVER = MlperfRun(name="server", model="resnet50", scenario="Server", queries_per_second=16000)
TOKENS = MlperfRun(name="tokens", model="llama2-70b", scenario="Server", queries_per_second=42)


def problems(name: str, run: MlperfRun) -> list[str]:
    return [*READS.problems(READS.read(text(name)), wanted(run))]


@pytest.mark.parametrize(
    ("name", "run", "value", "p99"),
    [
        ("offline-valid", OFFLINE, 18734.6, 651.502837465),
        ("server-valid", SERVER, 15988.41, 0.01187392),
        ("server-tokens-valid", TOKENS, 12310.52, 43.301928374),
    ],
)
def test_a_valid_run_has_a_figure(name: str, run: MlperfRun, value: float, p99: float) -> None:
    found = READS.read(text(name))
    assert [*READS.problems(found, wanted(run))] == []
    assert READS.result(found, wanted(run)) == value
    assert list(READS.latencies(found)) == ["50.00", "90.00", "95.00", "97.00", "99.00", "99.90"]
    assert READS.latencies(found)["99.00"] == pytest.approx(p99)


@pytest.mark.parametrize(
    ("name", "run", "said"),
    [
        (
            "server-over-latency",
            SERVER,
            "the result is INVALID: not satisfied: performance constraints, early stopping",
        ),
        ("offline-too-short", OFFLINE, "the result is INVALID: not satisfied: min duration"),
        ("offline-errors", OFFLINE, "LoadGen met 2 errors: see mlperf_log_detail.txt"),
    ],
)
def test_what_loadgen_refuses_is_no_result(name: str, run: MlperfRun, said: str) -> None:
    assert problems(name, run) == [said]


def test_a_run_of_another_scenario_is_not_this_one() -> None:
    assert problems("server-valid", OFFLINE) == [
        "Scenario is Server, and not Offline",
        "target_qps was 16000, and not 18500",
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("target_latency (ns): 15000000", "target_latency (ns): 30000000", "target_latency (ns) was 30000000, and not"),
        ("target_qps : 16000", "target_qps : 8000", "target_qps was 8000, and not 16000"),
        ("min_duration (ms): 600000", "min_duration (ms): 60000", "min_duration (ms) was 60000, and not 600000"),
        ("Mode     : PerformanceOnly", "Mode     : AccuracyOnly", "Mode is AccuracyOnly, and not PerformanceOnly"),
        ("target_latency (ns): 15000000\n", "", "target_latency (ns) was not said, and not 1.5e+07"),
    ],
)
def test_a_harness_with_rules_of_its_own_is_found_out(old: str, new: str, said: str) -> None:
    """LoadGen calls such a run VALID: it judges by what it was told."""
    whole = text("server-valid")
    assert old in whole
    (problem,) = READS.problems(READS.read(whole.replace(old, new)), wanted(SERVER))
    assert problem.startswith(said)


def test_the_interactive_category_has_shorter_limits() -> None:
    interactive = MlperfRun(name="chat", model="llama2-70b-interactive", scenario="Server", queries_per_second=42)
    assert problems("server-tokens-valid", interactive) == [
        "ttft_latency (ns) was 2000000000, and not 4.5e+08",
        "tpot_latency (ns) was 200000000, and not 4e+07",
    ]


def test_tokens_have_limits_of_their_own() -> None:
    late = text("server-tokens-valid").replace("tpot_latency (ns): 200000000", "tpot_latency (ns): 400000000")
    (problem,) = READS.problems(READS.read(late), wanted(TOKENS))
    assert problem.startswith("tpot_latency (ns) was 400000000")


def test_a_summary_that_is_cut_short_anywhere_is_refused() -> None:
    """But for its very last words, which say nothing more."""
    whole = text("server-valid")
    for end in range(0, whole.index("No errors encountered"), 7):
        with pytest.raises(READS.Unreadable, match=r"the summary is not whole"):
            READS.read(whole[:end])
    with pytest.raises(READS.Unreadable, match="Test Parameters Used"):
        READS.read(text("server-truncated"))


@pytest.mark.parametrize("value", ["nan", "inf", "0", "-4", "many"])
def test_a_figure_that_is_none_does_not_count(value: str) -> None:
    found = READS.read(text("offline-valid")) | {"Samples per second": value}
    with pytest.raises(READS.Unreadable, match=f"`Samples per second` is {value}"):
        READS.result(found, wanted(OFFLINE))


def test_the_last_summary_of_a_log_counts() -> None:
    log = "".join(
        f"a warm-up\n{READS.BEGIN}\n{text(name)}{READS.END}\n" for name in ("offline-too-short", "offline-valid")
    )
    assert READS.read(READS.cut_out(log)) == READS.read(text("offline-valid"))
    with pytest.raises(READS.Unreadable, match="ends within"):
        READS.cut_out(log[: -len(READS.END) - 30])
    with pytest.raises(READS.Unreadable, match="has no summary"):
        READS.cut_out("nothing\n")


def test_every_plan_is_one_that_can_be_judged(a30: Cluster) -> None:
    assert a30.mlperf
    (team,) = a30.teams
    for run in a30.mlperf.runs:
        told = plan(a30, team, a30.mlperf, run)["wanted"]
        assert (told["scenario"], told["result"]) in READS.RESULTS
        assert told == wanted(run)


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


COPIES = f"cp {SUMMARIES}/server-valid.txt $OUTPUT/mlperf_log_summary.txt"


def test_the_first_pod_prints_the_summary(pod: Pod) -> None:
    done = pod.run("sh", "-c", f"echo warming up; {COPIES}")
    assert (done.returncode, done.stderr) == (0, "")
    assert READS.read(READS.cut_out(done.stdout)) == READS.read(text("server-valid"))
    assert READS.BEGIN not in pod.run("sh", "-c", "true", JOB_COMPLETION_INDEX="1").stdout


def test_gpus_in_another_compute_mode_end_it_before_the_harness(pod: Pod) -> None:
    pod.modes.write_text("Exclusive_Process\nDefault\n")
    done = pod.run("sh", "-c", COPIES)
    assert done.returncode == 3
    assert done.stderr.startswith("the GPUs of jw2 are in compute mode Default Exclusive_Process")
    assert not (pod.results / "mlperf_log_summary.txt").exists()
    assert pod.run("sh", "-c", COPIES, COMPUTE_MODE="any").returncode == 0


def test_a_harness_that_leaves_nothing_is_no_run(pod: Pod) -> None:
    done = pod.run("sh", "-c", "true")
    assert done.returncode == 4
    assert done.stderr.startswith("the harness ended well, and left no ")


def test_a_harness_that_fails_is_no_run_whatever_it_left(pod: Pod) -> None:
    done = pod.run("sh", "-c", f"{COPIES}; exit 7")
    assert (done.returncode, done.stdout) == (7, "")


def test_both_scripts_know_the_same_words() -> None:
    shell, steps = read_text("mlperf/run.sh"), read_text("mlperf/mlperf.py.txt")
    assert re.findall(r'^echo "(-----.*)"$', shell, re.MULTILINE) == [READS.BEGIN, READS.END]
    (code,) = re.findall(r"^COMPUTE_MODE = (\d)", steps, re.MULTILINE)
    assert f"  exit {code}\n" in shell
