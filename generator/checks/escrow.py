"""Rules about the keys to which Secrets are encrypted that data depends on."""

from collections.abc import Iterator

from generator.checks.places import entries, listed_twice
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.model.rule import rule

_LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_PREFIX = "age"
_LENGTH = 62
"""Of a key: `age1`, 32 bytes in 52 letters, a checksum in 6 (age-encryption.org/v1, "The X25519 recipient type")."""


@rule("GEN-SITE-031", "copies that somebody can decrypt")
def recipients_known(cluster: Cluster) -> Iterator[Finding]:
    """A key with a typing error belongs to nobody: the copy of a Secret that is encrypted to it alone is lost, and what
    the Secret opens with it. A key of age has a checksum, which tells.

    Wrong:
        escrow: {recipients: [age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8q]}
    Right:
        escrow: {recipients: [age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p]}
    """
    recipients = cluster.site.escrow.recipients
    for at, recipient in entries(recipients, "site", "escrow", "recipients"):
        if recipient.upper().startswith("AGE-SECRET-KEY-"):
            message = "this is a private key: whoever reads the repository can decrypt with it"
            yield Finding(at=at, message=message, fix="name its public key, and make a new pair: this one is known")
        elif not _is_key(recipient):
            message = f"`{recipient}` is no public key of age"
            yield Finding(at=at, message=message, fix="copy it again as `age-keygen` prints it, from `age1` to its end")
    items = ((recipient, at) for at, recipient in entries(recipients, "site", "escrow", "recipients"))
    yield from listed_twice(items, "the recipient {} is given twice")


def _is_key(text: str) -> bool:
    prefix, _, rest = text.partition("1")
    if prefix != _PREFIX or len(text) != _LENGTH or not set(rest) <= {*_LETTERS}:
        return False
    letters = [_LETTERS.index(letter) for letter in rest]
    expanded = [*(ord(letter) >> 5 for letter in _PREFIX), 0, *(ord(letter) & 31 for letter in _PREFIX)]
    return _checksum([*expanded, *letters]) == 1


def _checksum(values: list[int]) -> int:
    """Return Bech32's checksum of 5-bit values (BIP 173); 1 where they hold a right one."""
    found = 1
    for value in values:
        top = found >> 25
        found = (found & 0x1FFFFFF) << 5 ^ value
        for bit, word in enumerate(_GENERATOR):
            found ^= word if top >> bit & 1 else 0
    return found
