"""Secrets with which data would be lost, encrypted to people: a file outside the cluster that only grows."""

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

from generator.components.component import Manifest
from generator.errors import UsageError
from generator.live.times import stamp
from generator.model.cluster import Cluster

_MARK = "# gen escrow: "
_BEGIN, _END = "-----BEGIN AGE ENCRYPTED FILE-----", "-----END AGE ENCRYPTED FILE-----"
_RECORD = re.compile(rf"^{_MARK}Secret (\S+) of cluster (\S+), .*\n{_BEGIN}\n[A-Za-z0-9+/=\n]*\n{_END}$", re.MULTILINE)
"""A copy that is whole: one whose writing was cut short has no end."""


def unfit(file: Path) -> str:
    """Return why nothing can be added to a file, "" where something can."""
    if file.is_dir():
        return f"{file} is a folder; name a file in it"
    there = file if file.exists() else file.absolute().parent
    if not os.access(there, os.W_OK | os.R_OK):
        return f"{there} is not there, or may not be read and written"
    return (
        "" if _text(file).startswith(_MARK) or not _text(file) else f"{file} is no escrow file of gen's; name another"
    )


def recorded(file: Path, cluster: Cluster) -> frozenset[str]:
    """Return the Secrets of a cluster, as `namespace/name`, of which a file holds a whole copy; none where there is no
    file yet. Raises UsageError for one that cannot be read.
    """
    return frozenset(name for name, of in _RECORD.findall(_text(file)) if of == cluster.name)


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None


def append(file: Path, cluster: Cluster, manifest: Manifest, *along: Manifest) -> None:
    """Add a Secret to an escrow file, with what goes along with it, encrypted to the recipients of the cluster file,
    and have it on the disk. It begins a line, also behind a copy that was cut short. What is decrypted is taken by
    `kubectl create -f -`. Raises UsageError.
    """
    name = f"{manifest['metadata']['namespace']}/{manifest['metadata']['name']}"
    now = stamp(datetime.now(UTC))
    content = {"apiVersion": "v1", "kind": "List", "items": [manifest, *along]} if along else manifest
    block = _encrypted(json.dumps(content).encode(), cluster)
    cut = "\n" if (before := _text(file)) and not before.endswith("\n") else ""
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "wb") as out:
            out.write(f"{cut}{_MARK}Secret {name} of cluster {cluster.name}, {now}\n".encode() + block)
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}; nothing was made") from None


def _encrypted(content: bytes, cluster: Cluster) -> bytes:
    from pyrage import encrypt, x25519  # noqa: PLC0415 - for the few that have something to keep

    recipients = [x25519.Recipient.from_str(one) for one in cluster.site.escrow.recipients]
    return bytes(encrypt(content, recipients, armored=True))
