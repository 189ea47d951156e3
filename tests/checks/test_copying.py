"""How long a run of a backup may take, by rules and by what runs it."""

import pytest

from generator.checks import copying
from generator.components.static import read_objects


@pytest.mark.parametrize("name", ["workflows/backup.yaml", "workflows/files/backup.yaml"])
def test_a_run_may_take_as_long_as_rules_believe(name: str) -> None:
    (made,) = read_objects(name)
    assert made["spec"]["activeDeadlineSeconds"] == copying.LONGEST
