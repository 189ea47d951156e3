"""How long a run of a backup may take, by rules and by what runs it."""

import pytest

from generator.checks import copying
from generator.components.static import read_objects
from generator.model.backup import EtcdBackup, ZabbixBackup


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("workflows/backup.yaml", copying.LONGEST),
        ("workflows/files/backup.yaml", copying.LONGEST),
        ("etcd_backup/template.yaml", copying.OWN_LONGEST[EtcdBackup]),
        ("zabbix_backup/step.yaml", copying.OWN_LONGEST[ZabbixBackup]),
    ],
)
def test_a_run_may_take_as_long_as_rules_believe(name: str, seconds: int) -> None:
    (made,) = read_objects(name)
    assert made["spec"]["activeDeadlineSeconds"] == seconds
