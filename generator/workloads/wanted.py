"""What somebody asks for: a framework's job, or a service, for a team with so many GPUs."""

import re

from msgspec import Struct

from generator.errors import UsageError
from generator.model.base import DNS_LABEL
from generator.model.quantity import Quantity

LONGEST = 40
"""Letters of a name: pods add their index, operators what each pod does, and a host's name has 63 at most."""


class Serving(Struct, frozen=True, kw_only=True):
    """A service: how many replicas there are at least and at most; `models` is where its models lie
    (`s3://BUCKET/PATH`, `pvc://CLAIM/PATH`), `credentials` the Secret with the keys of the bucket, None for the team's,
    `ca` the ConfigMap with the certificate that signed the store's, as `ca.crt`. `host` is the one of the team's by
    which it is reached from outside, None where it is not.
    """

    models: str
    least: int
    most: int
    credentials: str | None = None
    ca: str | None = None
    host: str | None = None

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
