"""What changes of MinIO's servers and drives mean.

Read in MinIO's `cmd/bootstrap-peer-server.go`: servers compare binaries, command lines and `MINIO_*` with each other at
their start, and wait until as many as half of the others are equal. What fixes a pool's layout: its `docs/distributed`.
"""

import re

from generator.components.minio.layout import LABELS, NAMESPACE
from generator.components.minio.setup_changes import SETUP_CHANGES
from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange
from generator.model.compared import came, labelled, named, stayed

_RANGES = re.compile(r"\{\d+\.\.\.\d+\}")

is_ours = named(NAMESPACE)
is_drive = labelled(*next(iter(LABELS.items())))


def _endpoints(value: object) -> list[str]:
    return [one for one in value if "://" in str(one)] if isinstance(value, list) else []


def pool_appended(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether server pools come after those that are there."""
    old, new = _endpoints(field.old), _endpoints(field.new)
    return len(new) > len(old) > 0 and new[: len(old)] == old


def nothing_appended(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether no server pool comes after those that are there."""
    return not pool_appended(change, field)


def pool_lost(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a server pool is no longer named, or stands elsewhere in the list."""
    old, new = _endpoints(field.old), _endpoints(field.new)
    return len(new) < len(old) or (old != new and sorted(old) == sorted(new))


def pool_reshaped(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a server pool has other numbers of servers or drives."""
    old, new = ([_RANGES.findall(one) for one in _endpoints(value)] for value in (field.old, field.new))
    return len(old) == len(new) and old != new and sorted(old) != sorted(new)


def reshaped(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether servers ask for more or fewer drives, or expect other servers or drives."""
    claims = field.path[1] == "volumeClaimTemplates"
    return not stayed(change, field) if claims else pool_reshaped(change, field)


def of_the_key(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a field is about the key that MinIO encrypts with, and was there before."""
    return not came(change, field) and any("KMS" in str(step) for step in field.path)


def of_parity(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether a field is about how many drives of a set hold parity."""
    return any("STORAGE_CLASS" in str(step) for step in field.path)


CHANGES = (
    *read_rules(
        "minio/changes.yaml",
        nothing_appended,
        pool_appended,
        pool_lost,
        reshaped,
        of_parity,
        of_the_key,
        is_ours=is_ours,
        is_drive=is_drive,
    ),
    *SETUP_CHANGES,
)
