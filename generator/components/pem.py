"""Certificates as text."""

import re

_PEM = r"(-----BEGIN CERTIFICATE-----\n([A-Za-z0-9+/=]+\n)+-----END CERTIFICATE-----\n*)+"


def is_pem(text: str) -> bool:
    """Tell whether a text is certificates in PEM and nothing else."""
    return bool(re.fullmatch(_PEM, text))
