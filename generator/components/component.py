"""What a component says of itself. Layout decides where it goes."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Manifest: TypeAlias = dict[str, Any]
"""One Kubernetes object, as the dict its YAML would be read as."""


NAMESPACES = "namespaces"
"""The Application of all namespaces of a cluster, which layout makes."""
OF_DEFINITIONS = "-crds"
"""How the name of a release ends that holds a component's definitions alone, behind the component's."""
HELM = "v3.19.0"
"""What charts are inflated with: another Helm may write the same chart differently."""


class Chart(Struct, frozen=True, kw_only=True):
    """A Helm chart: its name, the repository (https:// or oci://) and its version as the repository spells it."""

    name: str
    repository: str
    version: str


class Tier(StrEnum):
    """Which AppProject a component belongs to."""

    NETWORK = "network"
    PLATFORM = "platform"
    STORAGE = "storage"
    GPU = "gpu"
    SCHEDULING = "scheduling"
    TENANTS = "tenants"
    MONITORING = "monitoring"
    GITOPS = "gitops"


class Namespace(Struct, frozen=True):
    """A namespace the component lives in and its Pod Security level. All of a cluster's namespaces are written in
    one Application, `namespaces`; `security` None means that the namespace is not ours (kube-system).
    """

    name: str
    security: Literal["privileged", "baseline", "restricted"] | None = "restricted"
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Release(Struct, frozen=True):
    """A Helm chart with the values of this cluster, complete enough to stand alone.

    `hooks` decides for each of the chart's hooks by name (`drop`, `plain`, `keep`); `secrets` for each Secret the chart
    would emit: dropped (we declare it), kept as an empty placeholder that a controller fills, or refused.
    """

    chart: Chart
    name: str
    namespace: str
    values: Manifest
    hooks: dict[str, Literal["drop", "plain", "keep"]] = {}
    secrets: dict[str, Literal["drop", "placeholder", "refuse"]] = {}


class Computed(Struct, frozen=True, kw_only=True):
    """A value of a Secret that others of its values make: those of the keys `of`, in this order, which `value` takes.
    Where people make the Secret, the shell's `function` of the file `script` prints it, from the files of these values.
    """

    of: tuple[str, ...]
    value: Callable[..., bytes]
    function: str
    script: str


class Turn(Struct, frozen=True, kw_only=True):
    """How `gen secret rotate` gives a Secret another value, where a person need not do it by the words of `rotate`.

    `way`: its values are replaced, or it is emptied, and who made them fills it, or it is deleted, and made again, or
    the `user` of an object store whose keys it has, a path, is given others through Rook.
    `keeps` are keys whose values stay. `deletes` is the path of what is deleted in its place, `job` the CronJob of
    its namespace that makes it; `signs` are Secrets there that it signs. `former` says in which other key the value
    of a key stays while both count; without one the former ends as soon as the new one is known. With `handed` one
    counts at a time, and the Job of `syncs` needs the former to have the new one taken. `syncs` are Applications,
    each with the Job that a sync of it runs and that reads the Secret; `proof` those that show at the end that the
    new value counts. `restarts` are workloads of its namespace ("Deployment/name") that read it only when they
    start, `together` StatefulSets whose pods must do so all at once. `taken` is the one of these of which an init
    container, named beside it, has the new value taken. `trusted` are objects ("plural/name") that name its
    `ca.crt`, `asks` a collection and what may be made there only while somebody answers by it. `still` says what
    does not go on between its first step and its last, empty for nothing.
    """

    way: Literal["replace", "empty", "delete", "user"] = "replace"
    user: str = ""
    keeps: tuple[str, ...] = ()
    deletes: str = ""
    job: str = ""
    signs: tuple[str, ...] = ()
    former: Mapping[str, str] = {}
    handed: bool = False
    syncs: tuple[tuple[str, str], ...] = ()
    restarts: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    taken: tuple[str, str] | None = None
    trusted: tuple[str, ...] = ()
    asks: tuple[str, Manifest] | None = None
    proof: tuple[tuple[str, str], ...] = ()
    still: str = ""


class Secret(Struct, frozen=True, kw_only=True):
    """A Secret that must exist: only its declaration, never its data.

    `source`: `given` by a person, `generated` at bootstrap, made `in-cluster` by the component `by`, or `external`.
    `loss`: what is lost with it. `rotate`: how to replace it by hand, `turn` how `gen` does. `readers`: who mounts it.
    `labels` must be on it, and `copy_of` is the Secret ("namespace/name") that must hold the same values, where there
    is one. `known` are values that are no secret, by key; generated ones are random bytes in the `form` that the
    readers take, but for the keys `asked`, which a person gives. `entry` is where the site's store has an `external`
    one, `random` whether chance makes its values.
    `computed` are those that others of its values make, by key; a copy names them as well, and need not hold what they
    are made of. `along` are the ConfigMaps of its namespace without which an `in-cluster` one brings nothing back, each
    with those of its keys whose change makes a copy old.
    """

    name: str
    namespace: str
    keys: tuple[str, ...]
    source: Literal["given", "generated", "in-cluster", "external"]
    loss: Literal["harmless", "outage", "data"]
    rotate: str
    readers: tuple[str, ...]
    by: str | None = None
    labels: dict[str, str] = {}
    copy_of: str | None = None
    known: dict[str, str] = {}
    form: Literal["hex", "base64"] = "hex"
    entry: str = ""
    random: bool = False
    asked: tuple[str, ...] = ()
    computed: Mapping[str, Computed] = {}
    turn: Turn | None = None
    along: Mapping[str, tuple[str, ...]] = {}

    @property
    def full_name(self) -> str:
        """Its namespace and its name."""
        return f"{self.namespace}/{self.name}"

    def by_person(self, key: str) -> bool:
        """Tell whether a person gives the value of a key."""
        return key not in self.known and (self.source == "given" or key in self.asked)

    @property
    def by_hand(self) -> str:
        """Why only a person can give it another value, "" where `gen secret rotate` can."""
        if self.source == "external":
            return f"its values come from outside{f': the entry {self.entry} of the store' if self.entry else ''}"
        if self.loss == "data":
            return "data is lost with its values"
        return "" if self.turn else "it takes more than a new value"


class Health(Struct, frozen=True):
    """How Argo CD tells whether an object of this kind is healthy: Lua that returns `hs`."""

    group: str
    kind: str
    lua: str


class Ignore(Struct, frozen=True, kw_only=True):
    """Fields that a controller writes and Argo CD must not put back."""

    group: str
    kind: str
    name: str | None = None
    pointers: tuple[str, ...] = ()
    expressions: tuple[str, ...] = ()


class Patch(Struct, frozen=True, kw_only=True):
    """A JSON6902 patch on an object that a chart makes: `target` is group, version, kind, name (and namespace)."""

    target: dict[str, str]
    operations: tuple[Manifest, ...]


class Operation(Struct, frozen=True, kw_only=True):
    """A day-2 operation: templates shared by all clusters, in `workflows/<name>/`."""

    name: str
    templates: tuple[Manifest, ...]


class Component(Struct, frozen=True, kw_only=True):
    """One thing that is installed, and one Argo CD Application.

    `version` names its base folder; `base` holds objects that are the same on every cluster with this version (the same
    bytes: a test proves it), `objects` those of this cluster. `needs` are names of components that must be healthy
    first; names that the cluster does not have are an error of ours, so compute them. `storage_classes` are those of
    its volumes, None for the default one: what makes them comes first as well. `reach` lists other namespaces and
    `kinds` cluster-scoped kinds ("group/Kind", core: "/Kind") that its charts will write on this cluster: of those that
    its definition states. The values of the cluster file go to the first release. `manifest_secrets` decides for
    Secrets of its namespace in its manifests, as a release does for a chart's. `folder` is one of the repository, with
    a kustomization, that people wrote.
    """

    name: str
    tier: Tier
    summary: str
    version: str
    namespaces: tuple[Namespace, ...] = ()
    base: tuple[Manifest, ...] = ()
    objects: tuple[Manifest, ...] = ()
    releases: tuple[Release, ...] = ()
    manifests: tuple[str, ...] = ()
    manifest_secrets: dict[str, Literal["drop", "placeholder"]] = {}
    patches: tuple[Patch, ...] = ()
    operations: tuple[Operation, ...] = ()
    needs: tuple[str, ...] = ()
    storage_classes: tuple[str | None, ...] = ()
    secrets: tuple[Secret, ...] = ()
    health: tuple[Health, ...] = ()
    ignore: tuple[Ignore, ...] = ()
    reach: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    folder: str | None = None


def protect(manifest: Manifest) -> Manifest:
    """Return the object marked so that Argo CD neither prunes nor deletes it.

    `IgnoreExtraneous` as well: otherwise a protected object that left Git keeps its Application OutOfSync and blocks
    every later wave (facts: layout, Argo CD).
    """
    metadata = dict(manifest["metadata"])
    metadata["annotations"] = {
        **metadata.get("annotations", {}),
        "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
        "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
    }
    return {**manifest, "metadata": metadata}
