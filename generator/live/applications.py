"""Argo CD's Applications of a running cluster, as the API server shows them (facts: gitops-monitoring 1.9)."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from generator.components.common import IGNORE_HEALTH, SYNC_WAVE
from generator.components.component import Manifest
from generator.live.running import RunningCluster
from generator.model.fields import dig, sequence
from generator.model.finding import full_name

APPLICATIONS = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
ROOT = "root"
REFRESH = "argocd.argoproj.io/refresh"
APPROVED = "argocd.argoproj.io/deletion-approved"


class Resource(Struct, frozen=True, kw_only=True):
    """An object that an Application holds or held: whether it is as in Git (`sync`: Synced, OutOfSync, Unknown) and how
    it does (`health`, empty where Argo CD has no opinion). `leaving` left Git, `unconfirmed` waits for a person.
    """

    group: str
    kind: str
    namespace: str
    name: str
    sync: str
    health: str
    message: str
    leaving: bool
    unconfirmed: bool

    @property
    def full_name(self) -> str:
        """How people name it."""
        return full_name(self.kind, self.namespace, self.name)


class Application(Struct, frozen=True, kw_only=True):
    """One Application. `phase`, `said`, `retries` and `began` (RFC 3339) are of its last or running sync operation,
    which is to bring `asked` or brought `brought`; `revision` is the commit that it was last compared with. `gates`:
    whether later waves wait for it.
    """

    name: str
    wave: int
    gates: bool
    sync: str
    health: str
    message: str
    revision: str
    phase: str
    said: str
    asked: str
    brought: str
    retries: int
    began: str
    pending: bool
    """Whether an operation is asked for that has not begun."""
    resources: tuple[Resource, ...]
    conditions: tuple[tuple[str, str], ...]
    """Type and message."""
    deployed: str
    """The commit of the last sync that succeeded."""
    manifest: Manifest

    @property
    def acting(self) -> bool:
        """Whether an operation is under way or about to be."""
        return self.pending or self.phase in {"Running", "Terminating"}

    @property
    def refreshing(self) -> bool:
        """Whether Argo CD is still to look at it."""
        return REFRESH in (dig(self.manifest, "metadata", "annotations") or {})

    @property
    def commit(self) -> str:
        """The commit that it equals, else the one that it was last brought to; empty where there is none."""
        return (self.revision if self.sync == "Synced" else "") or self.deployed


def applications(running: RunningCluster) -> list[Application]:
    """Return all Applications in Argo CD's namespace, root first, then by wave and name; none where there is no Argo
    CD. Raises UsageError.
    """
    return in_order(map(application, running.items(APPLICATIONS)))


def in_order(found: Iterable[Application]) -> list[Application]:
    """Return Applications, root first, then by wave and name."""
    return sorted(found, key=lambda one: (one.name != ROOT, one.wave, one.name))


def refresh(running: RunningCluster, name: str) -> None:
    """Have Argo CD read Git and compare an Application anew; the annotation goes when it has."""
    running.merge(f"{APPLICATIONS}/{name}", {"metadata": {"annotations": {REFRESH: "normal"}}})


def syncs_by_itself(manifest: object) -> bool:
    """Tell whether Argo CD syncs an Application whenever its branch moves."""
    found = dig(manifest, "spec", "syncPolicy", "automated")
    return isinstance(found, dict) and found.get("enabled") is not False


def application(manifest: Manifest) -> Application:
    """Return what an Application says of itself."""
    annotations = dig(manifest, "metadata", "annotations") or {}
    state = dig(manifest, "status", "operationState") or {}
    return Application(
        name=str(manifest["metadata"]["name"]),
        wave=_number(annotations.get(SYNC_WAVE)),
        gates=IGNORE_HEALTH not in annotations,
        sync=_text(manifest, "status", "sync", "status"),
        health=_text(manifest, "status", "health", "status"),
        message=_text(manifest, "status", "health", "message"),
        revision=_text(manifest, "status", "sync", "revision"),
        phase=_text(state, "phase"),
        said=_text(state, "message"),
        asked=_text(state, "operation", "sync", "revision"),
        brought=_text(state, "syncResult", "revision"),
        retries=_number(state.get("retryCount")),
        began=_text(state, "startedAt"),
        pending=bool(manifest.get("operation")),
        resources=tuple(_resources(manifest)),
        conditions=tuple(
            (_text(one, "type"), _text(one, "message")) for one in sequence(dig(manifest, "status", "conditions"))
        ),
        deployed=_text(next(reversed(sequence(dig(manifest, "status", "history"))), None), "revision"),
        manifest=manifest,
    )


def _resources(manifest: Manifest) -> Iterator[Resource]:
    for one in sequence(dig(manifest, "status", "resources")):
        yield Resource(
            group=_text(one, "group"),
            kind=_text(one, "kind"),
            namespace=_text(one, "namespace"),
            name=_text(one, "name"),
            sync=_text(one, "status"),
            health=_text(one, "health", "status"),
            message=_text(one, "health", "message"),
            leaving=dig(one, "requiresPruning") is True,
            unconfirmed=dig(one, "requiresDeletionConfirmation") is True,
        )


def _text(manifest: object, *steps: str) -> str:
    """Return what Argo CD says, in one line: much of it is what other programs printed."""
    found = dig(manifest, *steps)
    return " ".join(found.split()) if isinstance(found, str) else ""


def _number(text: object) -> int:
    try:
        return int(str(text or 0))
    except ValueError:
        return 0
