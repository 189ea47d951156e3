"""Benchmarks by MLPerf Inference v5.0, and what its rules ask of each model in the datacenter."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from generator.model.base import DNS_LABEL, ImageReference, Line, Name, Section

Model = Literal[
    "3d-unet",
    "dlrm-v2",
    "gptj",
    "llama2-70b",
    "llama2-70b-interactive",
    "llama3_1-405b",
    "mixtral-8x7b",
    "resnet50",
    "retinanet",
    "rgat",
    "stable-diffusion-xl",
]
MIN_DURATION = 600_000
"""Milliseconds that a run issues queries for at least, in both scenarios."""


class Limits(Struct, frozen=True, kw_only=True):
    """What a model must keep to in the Server scenario, at the 99th percentile, in milliseconds: the whole `latency`,
    or of its tokens the first (`first_token`) and those after it (`each_token`). None of them: it has no such scenario.
    `result` is what its figure counts for each second, tokens `inferred` from samples where LoadGen sees none.
    """

    latency: int | None = None
    first_token: int | None = None
    each_token: int | None = None
    result: Literal["samples", "tokens", "inferred"] = "samples"

    @property
    def served(self) -> bool:
        """Whether the model has a Server scenario."""
        return self.latency is not None or self.first_token is not None


LIMITS: Mapping[Model, Limits] = {
    "3d-unet": Limits(),
    "dlrm-v2": Limits(latency=60),
    "gptj": Limits(latency=20_000, result="inferred"),
    "llama2-70b": Limits(first_token=2000, each_token=200, result="tokens"),
    "llama2-70b-interactive": Limits(first_token=450, each_token=40, result="tokens"),
    "llama3_1-405b": Limits(first_token=6000, each_token=175, result="tokens"),
    "mixtral-8x7b": Limits(first_token=2000, each_token=200, result="tokens"),
    "resnet50": Limits(latency=15),
    "retinanet": Limits(latency=100),
    "rgat": Limits(),
    "stable-diffusion-xl": Limits(latency=20_000),
}
"""By the names that LoadGen reads settings by. From github.com/mlcommons/inference at tag v5.0.1, of which LoadGen is
5.0.13: `loadgen/mlperf.conf` (limits), `tools/submission/submission_checker.py` (`required-scenarios-datacenter`: which
models there are, and with which scenarios; `RESULT_FIELD_NEW` and `RESULT_FIELD_BENCHMARK_OVERWRITE`: what counts).
"""


class MlperfRun(Section, frozen=True, kw_only=True):
    """One benchmark: a model in a scenario, on all GPUs of so many `nodes`. On one node it is one pod with all of its
    GPUs; on several there is a pod on each, started together. `queries_per_second` is LoadGen's `target_qps`: in the
    Server scenario the load, in the Offline one what is expected. The run ends after `hours` at the latest, the time in
    the queue aside.
    """

    name: Annotated[
        str,
        Meta(
            pattern=DNS_LABEL,
            max_length=40,
            description="a DNS label: small letters, digits and hyphens, up to 40 characters",
        ),
    ]
    model: Model
    scenario: Literal["Offline", "Server"]
    queries_per_second: Annotated[float, Meta(ge=0.001, le=10**9)]
    nodes: Annotated[int, Meta(ge=1, le=1024)] = 1
    hours: Annotated[int, Meta(ge=1, le=72)] = 4


class Mlperf(Section, frozen=True, kw_only=True):
    """Benchmarks of a team's GPUs by MLPerf Inference, started by hand through its queue. `image` holds a harness with
    LoadGen, which `command` starts. `data` is a claim of the team's, mounted read-only at `/data`. A result that is
    more than `tolerance` percent below the last good one fails. `compute_mode` is what `nvidia-smi` must say of the
    GPUs; `any` does not ask.
    """

    team: Name
    pool: Name
    image: ImageReference
    command: Annotated[tuple[Line, ...], Meta(min_length=1)]
    runs: Annotated[tuple[MlperfRun, ...], Meta(min_length=1)]
    data: Name | None = None
    tolerance: Annotated[int, Meta(ge=1, le=50)] = 5
    compute_mode: Literal["Exclusive_Process", "Default", "any"] = "Exclusive_Process"
