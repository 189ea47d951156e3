"""What is said of backups, beside where it is said."""

from pathlib import Path

from generator.checks import check
from generator.model.cluster import Cluster
from generator.spec.decode import decode
from generator.spec.reader import read

RULES = Path(__file__).parent.parent / "wrong" / "rules"


def test_a_short_lock_says_from_when_its_days_count() -> None:
    """What does not change is copied once: nothing holds it once the days since then are over."""
    cluster = decode(read((RULES / "GEN-BKP-006.yaml").read_bytes(), "f"))
    assert isinstance(cluster, Cluster)
    (found,) = check(cluster)
    assert found.message.endswith("and locked 7 from the day of each copy"), found.message
