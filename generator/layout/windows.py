"""Times in which Argo CD syncs, or does not: the sync windows of a project."""

from collections.abc import Collection

from generator.components.component import Manifest, Tier
from generator.model.cluster import Cluster
from generator.model.gitops import Window


def sync_windows(cluster: Cluster, tier: Tier, among: Collection[str]) -> list[Manifest]:
    """Return the windows that are about a tier, or about any of its components `among` which a project is for, in the
    order of the file (Argo CD v3.5: `SyncWindow` in `pkg/apis/application/v1alpha1/types.go`).

    None has `syncOverrun`: an operation that fails is tried again for ever, each time with the newest commit, and would
    bring new commits into a time that is closed.
    """
    named = ((window, _names(window, tier, among)) for window in cluster.gitops.windows)
    return [_sync_window(cluster, window, names) for window, names in named if names]


def _names(window: Window, tier: Tier, among: Collection[str]) -> list[str]:
    """Return the Applications of a project that a window is about, `*` for all."""
    if window.everywhere or tier.value in window.tiers:
        return ["*"]
    return sorted({*window.components} & {*among})


def _sync_window(cluster: Cluster, window: Window, names: list[str]) -> Manifest:
    return {
        "kind": window.kind,
        "schedule": window.schedule,
        "duration": go_duration(window.seconds),
        "timeZone": window.timezone or cluster.site.timezone,
        "applications": names,
        **({"manualSync": True} if window.manual else {}),
        **({"description": window.reason} if window.reason else {}),
    }


def go_duration(seconds: int) -> str:
    """Return a time as Go reads it, which knows no days: `28h`, `90m`, `30s`."""
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
