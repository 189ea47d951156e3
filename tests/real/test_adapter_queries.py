"""What prometheus-adapter asks of Prometheus, on Prometheus' own test program, with series as Triton 2.71 and the DCGM
exporter 4.6.0 tell them and as Prometheus labels them.
"""

from pathlib import Path

import pytest
from promtool import judged

from generator.components.prometheus_adapter import GPU_USE, QUEUE_SECONDS, PodMetric

pytestmark = pytest.mark.real

WAITED, ANSWERED = "nv_inference_queue_duration_us", "nv_inference_request_success"
MINUTES = 20
"""For so long there are samples, one every 15 s."""


def asked(one: PodMetric, *pods: str) -> str:
    """Return the query for pods of team search, as the adapter writes it (v0.12: `metrics_query.go`)."""
    names = f'{one.pod}=~"{"|".join(pods)}"' if len(pods) > 1 else f'{one.pod}="{pods[0]}"'
    matchers = f'{one.namespace}="search",{names}'
    return one.query.replace("<<.LabelMatchers>>", matchers).replace("<<.GroupBy>>", one.pod)


def triton(name: str, pod: str, each: int, *, model: str = "asr", namespace: str = "search") -> dict[str, str]:
    """Return a counter of Triton that grows by `each` every 15 s."""
    labels = f'namespace="{namespace}",pod="{pod}",model="{model}",version="1",job="monitoring/team-services"'
    return {"series": f"{name}{{{labels}}}", "values": f"0+{each}x{MINUTES * 4}"}


def gpu(pod: str, value: float, number: int = 0, *, namespace: str = "search") -> dict[str, str]:
    labels = f'exported_namespace="{namespace}",exported_pod="{pod}",gpu="{number}",pod="nvidia-dcgm-exporter-x"'
    labels += ',namespace="gpu-operator"'
    return {"series": f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{labels}}}", "values": f"{value}x{MINUTES * 4}"}


def told(tmp_path: Path, query: str, series: list[dict[str, str]], expected: dict[str, float]) -> tuple[int, str]:
    """Run promtool; the label of each sample is the one by which the adapter finds pods."""
    samples = [{"labels": f"{{{label}}}", "value": value} for label, value in expected.items()]
    # promtool compares floats exactly; thousandths are what the adapter keeps.
    test = {"expr": f"round({query}, 0.001)", "eval_time": "10m", "exp_samples": samples}
    ran = judged(tmp_path, {"tests": [{"interval": "15s", "input_series": series, "promql_expr_test": [test]}]})
    return ran.returncode, ran.stdout + ran.stderr


def test_the_wait_of_a_request_is_in_seconds_for_each_pod(tmp_path: Path) -> None:
    """150 requests in 15 s, of which each waits 30 ms; of the other pod 60 ms, in two models."""
    series = [
        triton(WAITED, "asr-1", 150 * 30_000),
        triton(ANSWERED, "asr-1", 150),
        triton(WAITED, "asr-2", 150 * 90_000),
        triton(ANSWERED, "asr-2", 150),
        triton(WAITED, "asr-2", 150 * 30_000, model="punctuation"),
        triton(ANSWERED, "asr-2", 150, model="punctuation"),
        triton(WAITED, "asr-1", 150 * 990_000, namespace="other"),
        triton(ANSWERED, "asr-1", 150, namespace="other"),
    ]
    expected = {'pod="asr-1"': 0.03, 'pod="asr-2"': 0.06}
    assert told(tmp_path, asked(QUEUE_SECONDS, "asr-1", "asr-2"), series, expected)[0] == 0


@pytest.mark.parametrize(
    ("waited", "answered", "seconds"),
    [
        pytest.param(0, 0, 0, id="nobody asks"),
        # 1 s of waiting in each second, in which nothing is answered: divided by a request in 1000 s.
        pytest.param(15_000_000, 0, 1000, id="nothing is answered"),
    ],
)
def test_what_is_served_is_always_a_number(tmp_path: Path, waited: int, answered: int, seconds: float) -> None:
    series = [triton(WAITED, "asr-1", waited), triton(ANSWERED, "asr-1", answered)]
    code, said = told(tmp_path, asked(QUEUE_SECONDS, "asr-1"), series, {'pod="asr-1"': seconds})
    assert code == 0, said


def test_the_use_of_gpus_is_that_of_the_pod_and_not_of_the_exporter(tmp_path: Path) -> None:
    series = [gpu("asr-1", 0.5), gpu("asr-1", 1, 1), gpu("asr-2", 0.25, 2), gpu("asr-1", 0, 3, namespace="other")]
    query = asked(GPU_USE, "asr-1", "asr-2")
    expected = {'exported_pod="asr-1"': 0.75, 'exported_pod="asr-2"': 0.25}
    code, said = told(tmp_path, query, series, expected)
    assert code == 0, said
    expected['exported_pod="asr-2"'] = 0.3
    assert told(tmp_path, query, series, expected)[0] != 0, "promtool judges"
