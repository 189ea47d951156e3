"""Argo CD in the cluster file: who may enter, what it syncs by itself, and when."""

from typing import Annotated, Literal

from msgspec import Meta, field

from generator.model.base import Duration, Host, Line, Name, Section
from generator.model.monitoring import seconds
from generator.model.quantity import Quantity

# The names of Argo CD's projects, one for each tier of components.
TierName = Literal["network", "platform", "storage", "gpu", "scheduling", "tenants", "monitoring", "gitops"]


class Window(Section, frozen=True, kw_only=True):
    """Times that begin by `schedule` (as of cron: minute, hour, day of the month, month, day of the week, in
    `timezone`) and last for `duration`. What has `allow` windows is synced in these alone; in `deny` windows nothing
    is, whatever else allows it. A sync under way rests when its window closes. Of all components, where neither `tiers`
    nor `components` are named. With `manual: true` people may sync while Argo CD may not.
    """

    kind: Literal["allow", "deny"]
    schedule: Line
    duration: Duration
    timezone: Line | None = None
    tiers: tuple[TierName, ...] = ()
    components: tuple[Name, ...] = ()
    manual: bool = False
    reason: Line | None = None

    @property
    def everywhere(self) -> bool:
        """Whether it is for all components."""
        return not (self.tiers or self.components)

    @property
    def seconds(self) -> int:
        """How long it lasts."""
        return seconds(self.duration)

    def about(self, component: str, tier: str) -> bool:
        """Whether it is for a component of that tier."""
        return self.everywhere or tier in self.tiers or component in self.components


class Fleet(Section, frozen=True, kw_only=True):
    """The clusters of the repository, rendered and checked by pods of this one: as many at once as there are `shards`,
    each with a part of the clusters. `image` holds gen, Git and bash, Kustomize for the checks, and Helm where charts
    are vendored. What the parts come to goes over a volume of `storage_class`, which many nodes mount at once.
    """

    image: Line
    storage_class: Name
    storage: Quantity = field(default_factory=lambda: Quantity.parse("20Gi"))
    shards: Annotated[int, Meta(ge=1, le=64)] = 8


class Gitops(Section, frozen=True, kw_only=True):
    """How Argo CD works here. Argo CD does not sync tiers in `ordered` by itself: `gen sync` does, in the order of
    their waves. `admins` are groups of the site's identity provider. `windows` are the times of changes. With `fleet`
    this cluster renders all clusters of the repository.
    """

    host: Host | None = None
    high_availability: bool = True
    ordered: tuple[Literal["network", "storage", "gpu"], ...] = ()
    admins: tuple[Line, ...] = ()
    windows: tuple[Window, ...] = ()
    fleet: Fleet | None = None
