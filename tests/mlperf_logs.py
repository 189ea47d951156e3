"""What pods of benchmarks print: summaries as LoadGen v5.0 writes them, between the lines of our script."""

from pathlib import Path

SUMMARIES = Path(__file__).parent / "components" / "mlperf_summaries"


def summary(name: str) -> str:
    """Return one of LoadGen's summaries."""
    return (SUMMARIES / f"{name}.txt").read_text()


def printed(name: str) -> str:
    """Return the log of a pod that ended with it."""
    return f"warming up\n----- LoadGen's summary -----\n{summary(name)}----- end of LoadGen's summary -----\n"
