"""What pods of benchmarks print: summaries as LoadGen v5.0 writes them, between the lines of our script; and a pod's
variables, as far as the script asks for them.
"""

import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

from generator.components.mlperf.jobs import settings
from generator.components.static import read_text
from generator.model.mlperf import LIMITS, MIN_DURATION, MlperfRun

SUMMARIES = Path(__file__).parent / "components" / "mlperf_summaries"
READS = ModuleType("summary")
"""What the operation reads summaries by."""
exec(compile(read_text("mlperf/summary.py.txt"), "summary.py", "exec"), READS.__dict__)


def summary(name: str) -> str:
    """Return one of LoadGen's summaries."""
    return (SUMMARIES / f"{name}.txt").read_text()


def printed(name: str) -> str:
    """Return the log of a pod that ended with it."""
    return f"warming up\n----- LoadGen's summary -----\n{summary(name)}----- end of LoadGen's summary -----\n"


def wanted(run: MlperfRun) -> dict[str, Any]:
    """Return what the operation is told of a benchmark."""
    result = LIMITS[run.model].result
    return {"scenario": run.scenario, "result": result, "minDuration": MIN_DURATION, "settings": settings(run)}


class Pod:
    """What a pod of a benchmark has, in a folder: our script, `nvidia-smi`, a place for results, its variables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / "results"
        self.modes = folder / "modes"
        self.modes.write_text("Exclusive_Process\nExclusive_Process\n")
        (folder / "run.sh").write_text(read_text("mlperf/run.sh"))
        smi = folder / "nvidia-smi"
        smi.write_text('#!/bin/sh\n[ "$*" = \'--query-gpu=compute_mode --format=csv,noheader\' ] && cat "$MODES"\n')
        smi.chmod(0o755)

    def environment(self, **more: str) -> dict[str, str]:
        """Return its variables."""
        return {
            "PATH": f"{self.folder}:/usr/bin:/bin",
            "MODES": str(self.modes),
            "COMPUTE_MODE": "Exclusive_Process",
            "NODE": "jw2",
            "OUTPUT": str(self.results),
            "JOB_COMPLETION_INDEX": "0",
        } | more

    def begin(self, *command: str, **more: str) -> subprocess.Popen[str]:
        """Start a harness in it."""
        return subprocess.Popen(
            ["sh", str(self.folder / "run.sh"), *command],
            env=self.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a harness in it, to its end."""
        with self.begin(*command, **more) as process:
            said, told = process.communicate(timeout=120)
        return subprocess.CompletedProcess(command, process.returncode, said, told)
