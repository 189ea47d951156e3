"""What is said of backups, beside where it is said."""

import re
from pathlib import Path

from generator.checks import check
from generator.model.cluster import Cluster
from generator.spec.decode import decode
from generator.spec.reader import read

RULES = Path(__file__).parent.parent / "wrong" / "rules"


def test_snapshots_go_where_the_fix_says() -> None:
    """Taken literally, it ends the finding and brings no other: without `at` there is no bucket where no MinIO is."""
    text = (RULES / "GEN-BKP-020-elsewhere.yaml").read_text()
    cluster = decode(read(text.encode(), "f"))
    assert isinstance(cluster, Cluster)
    (found,) = check(cluster)
    written = re.match(r"add `(etcd: .*)` to `kubernetes`", found.fix)
    assert written, found.fix
    done = text.replace("  kubernetes:\n", f"  kubernetes:\n    {written[1].replace('...', 'lab-etcd')}\n")
    mended = decode(read(done.encode(), "f"))
    assert isinstance(mended, Cluster)
    assert not [*check(mended)]


def test_a_short_lock_says_from_when_its_days_count() -> None:
    """What does not change is copied once: nothing holds it once the days since then are over."""
    cluster = decode(read((RULES / "GEN-BKP-006.yaml").read_bytes(), "f"))
    assert isinstance(cluster, Cluster)
    (found,) = check(cluster)
    assert found.message.endswith("and locked 7 from the day of each copy"), found.message
