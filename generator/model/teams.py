"""Teams that share the cluster, and how their jobs are queued."""

from typing import Annotated, Literal

from msgspec import Meta, field

from generator.model.base import DNS_LABEL, Line, Name, Positive, Section, TeamHost
from generator.model.quantity import Quantity
from generator.model.storage import BucketName

Priority = Annotated[int, Meta(ge=-1_000_000_000, le=1_000_000_000)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Weight = Annotated[int, Meta(ge=0, le=1000)]


class Member(Section, frozen=True, kw_only=True):
    """A group or a user of the site's identity provider."""

    group: Line | None = None
    user: Line | None = None
    role: Literal["member", "viewer"] = "member"


class Quota(Section, frozen=True, kw_only=True):
    """What a team owns of one pool. On a GPU pool say `gpus`: CPU and memory follow in proportion. `gpus` counts what
    pods ask for as `nvidia.com/gpu`: instances where GPUs are split, turns where they are shared by time. Where nodes
    offer instances by name (`gpus.migStrategy: mixed`) say `instances`, by MIG profile. On other pools say `cpus` and
    `memory`. `borrow` is how much it may use beyond (none given: whatever is idle), `lend` how much of its own others
    may use (none given: all), both in GPUs, in instances of each profile or, without GPUs, in CPUs.
    """

    gpus: Count | None = None
    instances: dict[Line, Count] = field(default_factory=dict)
    cpus: Count | None = None
    memory: Quantity | None = None
    borrow: Count | None = None
    lend: Count | None = None


class TeamBucket(Section, frozen=True, kw_only=True):
    """A bucket of a team in the object store `store` of Ceph. It takes `size` bytes and, where that is given, so many
    `objects`. Its keys are in the team's namespace.
    """

    name: BucketName
    store: Name
    size: Quantity
    objects: Positive | None = None


class Team(Section, frozen=True, kw_only=True):
    """A team has a namespace of its name, a queue, and quotas by pool. `storage` bounds its volumes, and
    `storage_classes` those of each class it names. Where a cluster has scratch, `storage` bounds those of each class
    that lasts, and scratch has a bound beside it: all disks for it of the pools of which the team owns a part, unless
    `storage_classes` says another; a class of `extras` then needs one there. `security`
    is its Pod Security level. `queueing` is Kueue's strategy: `StrictFIFO` lets nobody pass a big job that waits.
    `priorities` are the classes of jobs that its members may use (none given: all but the highest). `department` is
    one of those of `scheduling`. `weight` says how much it gets beside others that borrow, with
    `scheduling.fairSharing`; 0 borrows only what nobody else wants. `hosts` are the names by which its services may
    be reached from outside, with `networks.exposure`. `buckets` are its own, in Ceph. With `pipelines` its members
    may run Argo workflows in its namespace, each pod through the team's queue.
    """

    name: Annotated[
        str,
        Meta(
            pattern=DNS_LABEL,
            max_length=50,
            description="a DNS label: small letters, digits and hyphens, up to 50 characters",
        ),
    ]
    quotas: dict[Name, Quota] = field(default_factory=dict)
    members: tuple[Member, ...] = ()
    storage: Quantity | None = None
    storage_classes: dict[Name, Quantity] = field(default_factory=dict)
    security: Literal["baseline", "restricted", "privileged"] = "baseline"
    queueing: Literal["BestEffortFIFO", "StrictFIFO"] = "BestEffortFIFO"
    priorities: tuple[Name, ...] | None = None
    department: Name | None = None
    weight: Weight = 1
    hosts: tuple[TeamHost, ...] = ()
    buckets: tuple[TeamBucket, ...] = ()
    pipelines: bool = False


class Department(Section, frozen=True, kw_only=True):
    """Teams that borrow from each other before they borrow from others. `weight` is that of all of them together,
    beside other departments and teams that are in none, with `scheduling.fairSharing`.
    """

    weight: Weight = 1


class Scheduling(Section, frozen=True, kw_only=True):
    """`priorities` are classes of jobs (higher goes first). `reclaim` says whose jobs a team may stop to get
    its own quota back. Admitted jobs that do not start within `start_minutes` give their quota back. With
    `fair_sharing` what is borrowed is divided by the weights of those who want it: jobs of who has more than its share
    stop, as `reclaim` lets them, also the more urgent ones. Without, who came first keeps it, until its owner or a
    more urgent job needs it. `departments` are those that teams are in.
    """

    priorities: dict[Name, Priority] = field(default_factory=lambda: {"low": 100, "normal": 1000, "urgent": 10000})
    reclaim: Literal["any", "lower-priority", "never"] = "any"
    start_minutes: Annotated[int, Meta(ge=1, le=1440)] = 30
    fair_sharing: bool = False
    departments: dict[Name, Department] = field(default_factory=dict)

    def open_to(self, team: Team) -> list[str]:
        """Return the classes that a team may use: those it names, else all but the highest, which stop the others'
        jobs. Where all are equal, none is the highest.
        """
        if team.priorities is not None:
            return list(team.priorities)
        highest = max(self.priorities.values(), default=0)
        lower = [name for name, value in self.priorities.items() if value < highest]
        return lower or list(self.priorities)
