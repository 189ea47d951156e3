"""Clusters that tests share, and no skipping in CI."""

import os
from collections.abc import Generator
from typing import TypeVar

import pytest
from reference import load

from generator.model.cluster import Cluster

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.fixture(scope="session")
def ml50() -> Cluster:
    return load("ml50")


@pytest.fixture(scope="session")
def a30() -> Cluster:
    return load("a30-bench")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A check that is skipped in CI proves nothing: it counts as failed there."""
    report = yield
    return _judged(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A whole file may be skipped as well, while it is collected."""
    report = yield
    return _judged(report)


def _judged(report: Report) -> Report:
    if report.skipped and os.environ.get("CI"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report
