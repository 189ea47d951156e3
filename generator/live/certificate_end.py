"""When a certificate ends: all that is read of it, without a library for the rest."""

import ssl
from datetime import UTC, datetime

VERSION, UTC_TIME = 0xA0, 0x17
TBS, VALIDITY = 0, 3
"""Places of the signed part in a certificate, and of the validity in that without the version (RFC 5280, 4.1)."""


def end_of_pem(text: str) -> datetime | None:
    """Return when the first certificate of a PEM text ends; None where there is none that can be read."""
    start = text.find("-----BEGIN CERTIFICATE-----")
    end = text.find("-----END CERTIFICATE-----", start)
    if start < 0 or end < 0:
        return None
    try:
        return end_of(ssl.PEM_cert_to_DER_cert(f"{text[start:end]}-----END CERTIFICATE-----\n"))
    except ValueError:
        return None


def end_of(certificate: bytes) -> datetime:
    """Return when a certificate in DER ends. Raises ValueError for what is none."""
    try:
        parts = [one for one in _parts(_parts(_parts(certificate)[0][1])[TBS][1]) if one[0] != VERSION]
        kind, text = _parts(parts[VALIDITY][1])[1]
        form = "%y%m%d%H%M%SZ" if kind == UTC_TIME else "%Y%m%d%H%M%SZ"
        return datetime.strptime(text.decode("ascii"), form).replace(tzinfo=UTC)
    except IndexError:
        raise ValueError("this is no certificate") from None


def _parts(data: bytes) -> list[tuple[int, bytes]]:
    """Return the tags and contents that DER data is a row of (X.690, 8.1)."""
    found = []
    while data:
        kind, size, rest = data[0], data[1], data[2:]
        if size & 0x80:
            count = size & 0x7F
            size, rest = int.from_bytes(rest[:count]), rest[count:]
        found.append((kind, rest[:size]))
        data = rest[size:]
    return found
