"""What LoadGen itself says of runs: read and judged as summaries written by hand are, and its limits beside gen's."""

import json
import os
import re
import signal
import subprocess
import time
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from frameworkhomes import home
from mlperf_logs import READS, Pod, summary, wanted

from generator.components.mlperf.jobs import user_conf
from generator.model.mlperf import LIMITS, MIN_DURATION, MlperfRun, Model

pytestmark = pytest.mark.real

HARNESS = Path(__file__).parent / "loadgen_harness.py"
SHORT = 1000
"""Milliseconds that these runs last at least."""
ELSEWHERE = {"bert", "dlrm", "rnnt", "ssd-mobilenet"}
"""Models that LoadGen has settings of and v5.0 has not, or not in the datacenter."""
SETTINGS = """
import json, sys, mlperf_loadgen
model, scenario, conf = sys.argv[1:]
found = mlperf_loadgen.TestSettings()
found.FromConfig(conf, model, scenario)
names = [name for name in dir(found) if not name.startswith("_") and name != "FromConfig"]
values = {name: getattr(found, name) for name in names}
print(json.dumps({name: value for name, value in values.items() if isinstance(value, (bool, int, float))}))
"""


class LoadGen:
    """LoadGen's Python, and benchmarks that it runs in a pod's place."""

    def __init__(self, python: str, folder: Path) -> None:
        self.python, self.folder = python, folder
        self.pod = Pod(folder)

    def told(self, run: MlperfRun, **more: str) -> dict[str, str]:
        """Return what a harness is told, with gen's own file of the load."""
        conf = self.folder / "user.conf"
        conf.write_text(user_conf(run))
        told = {"MODEL": run.model, "SCENARIO": run.scenario, "USER_CONF": str(conf)}
        return {**told, "MIN_DURATION": str(SHORT), "ANSWER_AFTER": "0", **more}

    def run(self, run: MlperfRun, **more: str) -> dict[str, str]:
        """Run a benchmark, and return what the operation reads from the log of its pod."""
        done = self.pod.run(self.python, str(HARNESS), **self.told(run, **more))
        assert done.returncode == 0, done.stderr
        found: dict[str, str] = READS.read(READS.cut_out(done.stdout))
        return found

    def settings(self, model: str, scenario: str) -> dict[str, Any]:
        """Return LoadGen's settings of a model."""
        conf = self.folder / "user.conf"
        conf.write_text("")
        command = [self.python, "-c", SETTINGS, model, scenario, str(conf)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    @cached_property
    def models(self) -> set[str]:
        """The models that LoadGen has settings of: its mlperf.conf is within it."""
        command = [self.python, "-c", "import mlperf_loadgen; print(mlperf_loadgen.__file__)"]
        module = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
        found = re.findall(
            rb"^([\w.-]+)\.\*\.performance_sample_count_override = ", Path(module).read_bytes(), re.MULTILINE
        )
        return {name.decode() for name in found}


@pytest.fixture
def loadgen(tmp_path: Path) -> LoadGen:
    return LoadGen(f"{home('loadgen', tmp_path)}/python3", tmp_path)


def benchmark(model: Model, scenario: Any, load: float) -> MlperfRun:
    return MlperfRun(name="one", model=model, scenario=scenario, queries_per_second=load)


def problems(found: dict[str, str], run: MlperfRun) -> list[str]:
    """Return what is wrong, the short time aside."""
    return [*READS.problems(found, wanted(run) | {"minDuration": SHORT})]


def test_gen_has_all_models_of_loadgen(loadgen: LoadGen) -> None:
    assert loadgen.models - ELSEWHERE == set(LIMITS)


@pytest.mark.parametrize("model", LIMITS)
def test_limits_are_those_of_loadgen(loadgen: LoadGen, model: Model) -> None:
    limits, found = LIMITS[model], loadgen.settings(model, "Server")
    assert found["server_target_latency_percentile"] == 0.99
    assert found["use_token_latencies"] == (limits.result == "tokens")
    assert found["infer_token_latencies"] == (limits.result == "inferred")
    assert {loadgen.settings(model, each)["min_duration_ms"] for each in ("Server", "Offline")} == {MIN_DURATION}
    if limits.first_token and limits.each_token:
        assert (found["ttft_latency"], found["tpot_latency"]) == (limits.first_token * 10**6, limits.each_token * 10**6)
    elif limits.latency:
        assert found["server_target_latency_ns"] == limits.latency * 10**6
    else:
        unheard_of = loadgen.settings("no-such-model", "Server")
        assert found["server_target_latency_ns"] == unheard_of["server_target_latency_ns"]


SERVER = benchmark("stable-diffusion-xl", "Server", 1000)
OFFLINE = benchmark("stable-diffusion-xl", "Offline", 4000)
TOKENS = benchmark("llama2-70b", "Server", 1000)
OFFLINE_TOKENS = benchmark("llama2-70b", "Offline", 4000)
BY_TOKEN = {"TOKENS": "30", "ANSWER_AFTER": "0.2"}
WHOLE = {"ANSWER_AFTER": "2"}
TOO_SLOW = {"ANSWER_AFTER": "0.03"}
"""The first three models may take seconds: other work on the machine makes none of them late."""


@pytest.mark.parametrize(
    ("run", "how", "least"),
    [
        (SERVER, {}, 500),
        (OFFLINE, WHOLE, 500),
        (TOKENS, BY_TOKEN, 15000),
        (OFFLINE_TOKENS, BY_TOKEN | WHOLE, 15000),
        (benchmark("gptj", "Server", 1000), {}, 69 * 500),
        (benchmark("gptj", "Offline", 4000), WHOLE, 69 * 500),
    ],
    ids=lambda value: f"{value.model}-{value.scenario}" if isinstance(value, MlperfRun) else "",
)
def test_a_valid_run_has_a_figure(loadgen: LoadGen, run: MlperfRun, how: dict[str, str], least: float) -> None:
    found = loadgen.run(run, **how)
    assert problems(found, run) == []
    assert least < READS.result(found, wanted(run)) < 10**7
    assert list(READS.latencies(found)) == ["50.00", "90.00", "95.00", "97.00", "99.00", "99.90"]
    assert [*READS.problems(found, wanted(run))] == [f"min_duration (ms) was {SHORT}, and not {MIN_DURATION} or more"]


@pytest.mark.parametrize(
    ("run", "how", "said"),
    [
        (benchmark("resnet50", "Server", 500), TOO_SLOW, "performance constraints, early stopping"),
        (
            benchmark("llama2-70b-interactive", "Server", 500),
            {"ANSWER_AFTER": "0.1", "TOKENS": "2"},
            "performance constraints, early stopping",
        ),
        (OFFLINE, {}, "min duration"),
    ],
    ids=["too-slow", "too-slow-by-token", "too-short"],
)
def test_what_loadgen_calls_invalid_is_no_result(
    loadgen: LoadGen, run: MlperfRun, how: dict[str, str], said: str
) -> None:
    assert problems(loadgen.run(run, **how), run) == [f"the result is INVALID: not satisfied: {said}"]


def test_a_run_with_errors_is_none_though_loadgen_calls_it_valid(loadgen: LoadGen) -> None:
    found = loadgen.run(TOKENS, **(BY_TOKEN | {"TOKENS": "1"}))
    assert found["Result is"] == "VALID"
    (problem,) = problems(found, TOKENS)
    assert re.fullmatch(r"LoadGen met [1-9]\d* errors: see mlperf_log_detail.txt", problem)
    with pytest.raises(READS.Unreadable, match="no figure to count"):
        READS.result(found, wanted(TOKENS))


def test_a_run_of_another_model_is_found_out(loadgen: LoadGen) -> None:
    """A harness that sets the load itself, and reads the settings of a model with longer limits."""
    other = benchmark("retinanet", "Server", 1000)
    said = "target_latency (ns) was 20000000000, and not 1e+08"
    assert problems(loadgen.run(SERVER), other) == [said]


def test_a_harness_that_is_killed_leaves_nothing_to_read(loadgen: LoadGen) -> None:
    told = loadgen.told(SERVER, MIN_DURATION="600000")
    command = f"echo $$ >$OUTPUT/pid; exec {loadgen.python} {HARNESS}"
    with loadgen.pod.begin("sh", "-c", command, **told) as process:
        results, end = loadgen.pod.results, time.monotonic() + 60
        while not (results / "mlperf_log_detail.txt").exists() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(int((results / "pid").read_text()), signal.SIGKILL)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGKILL
    with pytest.raises(READS.Unreadable, match="has no summary"):
        READS.cut_out(said)
    with pytest.raises(READS.Unreadable, match="is not whole"):
        READS.read((results / "mlperf_log_summary.txt").read_text())


def test_a_summary_that_is_cut_short_anywhere_is_refused(loadgen: LoadGen) -> None:
    loadgen.run(TOKENS, **BY_TOKEN)
    whole = (loadgen.pod.results / "mlperf_log_summary.txt").read_text()
    for end in range(whole.index("No errors encountered")):
        with pytest.raises(READS.Unreadable, match="is not whole"):
            READS.read(whole[:end])


@pytest.mark.parametrize(
    ("name", "run", "how"),
    [
        ("server-valid", SERVER, {}),
        ("server-over-latency", benchmark("resnet50", "Server", 500), TOO_SLOW),
        ("server-tokens-valid", TOKENS, BY_TOKEN),
        ("offline-valid", OFFLINE, WHOLE),
        ("offline-too-short", OFFLINE, {}),
    ],
)
def test_summaries_written_by_hand_have_the_same_lines(
    loadgen: LoadGen, name: str, run: MlperfRun, how: dict[str, str]
) -> None:
    loadgen.run(run, **how)
    real = (loadgen.pod.results / "mlperf_log_summary.txt").read_text()
    assert lines(summary(name)) == lines(real)


def lines(text: str) -> list[str]:
    """Return the lines of a summary without their figures, the name of the system, and how many warnings there were."""
    varied = re.compile(r"^(SUT name|(No|\d+) warnings? encountered).*", re.MULTILINE)
    return [re.sub(r"(?<= )\d+(\.\d+)?(e\+\d+)?\b(?! perc)", "N", line) for line in varied.sub(r"", text).splitlines()]
