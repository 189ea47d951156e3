"""What the proxy reads of backups of volumes, as VolSync tells of them: items of the cluster's own host."""

from collections.abc import Iterator

from generator.components.component import Manifest
from generator.components.volsync.names import METRICS_PORT, METRICS_SERVICE
from generator.components.zabbix.export import dependent, http, prometheus, trigger
from generator.model.backup import VolumeBackup

METRICS = "volume.metrics"


def metrics(domain: str) -> Manifest:
    """Return the item that all others are made from. VolSync's certificate is signed by nobody."""
    return http(METRICS, "VolSync", f"https://{METRICS_SERVICE}.{domain}:{METRICS_PORT}/metrics")


def volume_backup(host: str, one: VolumeBackup) -> Iterator[Manifest]:
    """Yield the items of one backup. VolSync says that a volume is out of sync (1) until a first backup worked, and
    again once the second start after the last good one has come. `kept` has a value only while it is in sync: so
    what never worked, what is broken for long and a VolSync that is away are all silence.
    """
    of = f'obj_namespace="{one.source.team}",obj_name="{one.name}",role="source"'
    name, metric = f"Volume backup {one.name} of team {one.source.team}", f"volsync_volume_out_of_sync{{{of}}}"
    behind, kept, missed = (f"volume.{what}[{one.name}]" for what in ("behind", "kept", "missed"))
    broke = f"last(/{host}/{behind})=1 and min(/{host}/{behind},{4 * one.gap}s)=0"
    late = f"max(/{host}/{missed},{2 * one.gap}s)>min(/{host}/{missed},{2 * one.gap}s)"
    for key, what, pattern, told in (
        (behind, "behind", metric, trigger(f"{name} is too old: two runs in a row did not end well", broke, "HIGH")),
        (
            kept,
            "kept",
            f"{metric}==0",
            trigger(f"{name} never worked, or not for long", f"nodata(/{host}/{kept},{one.gap}s)=1", "HIGH"),
        ),
        (
            missed,
            "starts left out",
            f"volsync_missed_intervals_total{{{of}}}",
            trigger(f"{name} takes longer than from one start to the next", late, "WARNING"),
        ),
    ):
        yield dependent(METRICS, key, f"{name}: {what}", prometheus(pattern, "max"), triggers=[told])
