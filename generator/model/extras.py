"""Components of the user's own: what `extras` in the cluster file may say."""

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from generator.model.base import ChartRepository, Download, Line, Name, Section

VersionName = Annotated[
    str,
    Meta(
        # It names a folder. Helm would take `1.x` and `latest` for whatever is the newest by then.
        pattern=r"^v?[0-9]+(\.[0-9]+){0,2}([-+][A-Za-z0-9.+_-]+)?$(?!\n)",
        max_length=100,
        description="one version as its publisher spells it, as in 6.49.0: no range",
    ),
]
SecretKey = Annotated[
    str,
    Meta(
        # What Kubernetes takes; bootstrap names a file by it.
        pattern=r"^(?!\.{1,2}$)[A-Za-z0-9._-]+$(?!\n)",
        max_length=253,
        description="the key of a Secret: letters, digits, - _ and .",
    ),
]
ClusterKind = Annotated[
    str,
    Meta(
        pattern=r"^([a-z0-9-]+(\.[a-z0-9-]+)*)?/[A-Z][A-Za-z0-9]*$(?!\n)",
        description="a cluster-scoped kind as group/Kind, as in rbac.authorization.k8s.io/ClusterRole; /Node for core",
    ),
]
SharedFolder = Annotated[
    str,
    Meta(
        pattern=r"^(?!(base|clusters|overlays|schemas|workflows)(/|$))[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$(?!\n)",
        description="a folder of this repository from its root, none of those that gen writes",
    ),
]


class ExtraChart(Section, frozen=True, kw_only=True):
    """A Helm chart: its name, the repository (https:// or oci://) and its version as the repository spells it."""

    name: Name
    repository: ChartRepository
    version: VersionName


class ExtraSecret(Section, frozen=True, kw_only=True):
    """A Secret that it reads, never its data: `given` by a person, `generated` at bootstrap, or made `in-cluster` by
    itself. `loss` is what is lost with it, `rotate` how to replace it.
    """

    name: Name
    keys: tuple[SecretKey, ...]
    source: Literal["given", "generated", "in-cluster"] = "given"
    loss: Literal["harmless", "outage", "data"] = "outage"
    rotate: Line = "replace its value, then restart what reads it"


class Extra(Section, frozen=True, kw_only=True):
    """A component of your own, which goes the whole way of gen's: a chart, upstream manifests (addresses of files), a
    `folder` of this repository with a kustomization, or what stands in its `custom/` alone.

    `kinds` are the cluster-scoped kinds, and `reach` the namespaces beside its own, that Argo CD may write for it;
    nothing else is allowed. `needs` are components that must be healthy first. With `installed: false` it goes,
    and its entry stays for later.
    """

    namespace: Name
    tier: Literal["network", "platform", "storage", "gpu", "scheduling", "monitoring", "gitops"] = "platform"
    security: Literal["privileged", "baseline", "restricted"] = "restricted"
    summary: Line = ""
    chart: ExtraChart | None = None
    manifests: tuple[Download, ...] = ()
    folder: SharedFolder | None = None
    values: dict[str, Any] = field(default_factory=dict)
    hooks: dict[Line, Literal["drop", "plain", "keep"]] = field(default_factory=dict)
    needs: tuple[Name, ...] = ()
    kinds: tuple[ClusterKind, ...] = ()
    reach: tuple[Name, ...] = ()
    secrets: tuple[ExtraSecret, ...] = ()
    sync: Literal["auto", "manual"] = "auto"
    installed: bool = True
