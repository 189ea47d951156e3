"""What machines tell of themselves that somebody must know: a reboot that is waited for, certificates that end soon."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from generator.components.component import Manifest
from generator.components.node_operations.names import MACHINE, MAINTENANCE
from generator.live.status.causes import Cause
from generator.live.status.certificates import ending
from generator.live.times import moment
from generator.model.fields import dig, mapping

LONG = timedelta(days=14)
"""So long a machine may wait for a reboot."""


def machine_causes(nodes: Sequence[Manifest], now: datetime) -> Iterator[Cause]:
    """Yield what is to be done on machines whose timers tell of them."""
    for node in nodes:
        text = str(mapping(dig(node, "metadata", "annotations")).get(MACHINE) or "")
        told = dict(one.split("=", 1) for one in text.split() if "=" in one)
        name = str(dig(node, "metadata", "name"))
        since = moment(told.get("reboot", ""))
        if since and now - since > LONG:
            yield _cause(name, f"it waits for a reboot since {since:%Y-%m-%d}", "reboot")
        if why := ending(moment(told.get("certificates", "")), now):
            yield _cause(name, f"the first certificate of its control plane: {why}", "certificates")


def _cause(node: str, why: str, action: str) -> Cause:
    command = f"gen workflow submit {MAINTENANCE} -p action={action}"
    return Cause(component="", objects=(node,), why=why, command=command)
