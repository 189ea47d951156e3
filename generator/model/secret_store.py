"""Where the values of Secrets come from, if not from people."""

from typing import Annotated, Literal

from msgspec import Meta

from generator.model.base import Host, Line, Section


class SecretStore(Section, frozen=True, kw_only=True):
    """The site's store of secrets, which the operator External Secrets reads; operator and ClusterSecretStore are the
    site's own. A Secret is the entry `<prefix>/<cluster>/<namespace>/<name>` there, and each of its keys a property of
    that.
    """

    by: Literal["external-secrets"]
    store: Host
    prefix: (
        Annotated[
            str,
            Meta(
                pattern=r"^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$(?!\n)",
                description="a path without a slash at its ends, of letters, digits, - _ and .",
            ),
        ]
        | None
    ) = None


class Escrow(Section, frozen=True, kw_only=True):
    """Who can decrypt the copies that `gen bootstrap` keeps of Secrets with which data would be lost: public keys of
    age, as `age-keygen` prints them.
    """

    recipients: tuple[Line, ...] = ()
