"""How much work the rules of sync windows do; what they find stands among the wrong files."""

from unittest.mock import Mock

import pytest
from msgspec import structs
from reference import load

from generator.checks import windows
from generator.model.gitops import Window


def test_windows_that_are_about_all_components_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = Mock(wraps=windows._never)
    monkeypatch.setattr(windows, "_never", compared)
    cluster = load("a30-bench")
    both = (
        Window(kind="allow", schedule="0 2 * * sat", duration="2h"),
        Window(kind="deny", schedule="0 3 * * sat", duration="2h"),
    )
    cluster = structs.replace(cluster, gitops=structs.replace(cluster.gitops, windows=both))
    assert not list(windows.some_time_left.check(cluster))
    assert compared.call_count == 1
