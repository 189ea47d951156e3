"""Where benchmarks are started, what their objects are called, what Prometheus is told."""

NAMESPACE = "mlperf-benchmark"
OPERATION = "mlperf"
OF_TEAM = "mlperf"
"""Names what the team's namespace has for its benchmarks: scripts, and the right to run them."""
SCRIPTS, BENCHMARKS = "mlperf-scripts", "mlperf-benchmarks"
PEOPLE = "mlperf-benchmark"
"""The Role of who may start benchmarks."""
GOOD = "argo_workflows_mlperf_good"
"""A metric of `template.yaml`, with Argo Workflows' prefix: 1 where the last run of the label `benchmark` was good."""


def labels() -> dict[str, str]:
    """Return the labels of every object."""
    return {"app.kubernetes.io/name": OPERATION, "app.kubernetes.io/part-of": OPERATION}


def job_name(run: str) -> str:
    """Return what a benchmark's Job is called, and the Service that gives its pods names."""
    return f"mlperf-{run}"
