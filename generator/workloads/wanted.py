"""What somebody asks for: a framework's job, or a service, for a team with so many GPUs."""

import re

from msgspec import Struct

from generator.errors import UsageError
from generator.model.base import DNS_LABEL, is_label
from generator.model.quantity import Quantity

LONGEST = 40
"""Letters of a name: pods add their index, operators what each pod does, and a host's name has 63 at most."""
LONGEST_OF_OBJECTS = 253


class Serving(Struct, frozen=True, kw_only=True):
    """A service: how many replicas there are at least and at most; `models` is where its models lie
    (`s3://BUCKET/PATH`, `pvc://CLAIM/PATH`), `credentials` the Secret with the keys of the bucket, None for the team's,
    `ca` the ConfigMap with the certificate that signed the store's, as `ca.crt`. `host` is the one of the team's by
    which it is reached from outside, None where it is not. `scale_on` is what says how many replicas there are, one of
    `SCALES` of what serves; None its first.
    """

    models: str
    least: int
    most: int
    credentials: str | None = None
    ca: str | None = None
    host: str | None = None
    scale_on: str | None = None

    @property
    def scaled(self) -> bool:
        """Whether an autoscaler says how many there are."""
        return self.least < self.most


class Wanted(Struct, frozen=True, kw_only=True):
    """A job as it is asked for. `pool` None: the one on which the team owns the most GPUs. `device` is the extended
    resource where nodes offer several kinds of instances. `priority` None: the middle one of the team's classes.
    `checkpoints` is the size of the volume for them. Of a service, `gpus` are those of each replica.
    """

    name: str
    team: str
    gpus: int
    image: str
    pool: str | None = None
    device: str | None = None
    priority: str | None = None
    checkpoints: Quantity = Quantity.parse("500Gi")
    serving: Serving | None = None

    @property
    def copies(self) -> int:
        """How many of it may run at once: the replicas of a service."""
        return self.serving.most if self.serving else 1


def checked(wanted: Wanted) -> Wanted:
    """Return it as it is. Raises UsageError for a name that pods, Services and volumes cannot have."""
    named(wanted.name)
    return wanted


def named(name: str) -> None:
    """Refuse what cannot be the name of a job."""
    if len(name) > LONGEST or not re.search(DNS_LABEL, name) or not name[0].isalpha():
        raise UsageError(
            f"`{name}` cannot be the name of a job: small letters, digits and hyphens, a letter first, "
            f"{LONGEST} at most; its pods are known by it in DNS"
        )


def in_claim(option: str, where: str) -> tuple[str, str]:
    """Return the claim and the path of `pvc://CLAIM/PATH`, the path without `/` around it. Raises UsageError."""
    scheme, _, rest = where.partition("://")
    claim, _, path = rest.partition("/")
    if scheme != "pvc" or ".." in path.split("/"):
        raise UsageError(f"{option} {where}: say pvc://CLAIM/PATH, a claim of the team's and a folder in it")
    return object_name(option, claim), path.strip("/")


def object_name(option: str, name: str) -> str:
    """Return a name that an object may have. Raises UsageError for another."""
    if len(name) > LONGEST_OF_OBJECTS or not all(is_label(part, LONGEST_OF_OBJECTS) for part in name.split(".")):
        raise UsageError(f"{option}: no object is named `{name}`: small letters, digits, hyphens and dots")
    return name
