"""How long a run of a backup may take, by rules and by what runs it."""

import pytest

from generator.checks import copying
from generator.components.static import read_objects


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("workflows/backup.yaml", copying.LONGEST),
        ("workflows/files/backup.yaml", copying.LONGEST),
        ("etcd_backup/template.yaml", copying.ETCD_LONGEST),
        ("zabbix_backup/step.yaml", copying.ZABBIX_LONGEST),
    ],
)
def test_a_run_may_take_as_long_as_rules_believe(name: str, seconds: int) -> None:
    (made,) = read_objects(name)
    assert made["spec"]["activeDeadlineSeconds"] == seconds
