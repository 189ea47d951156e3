"""From the values of a cluster file to frozen types, or to findings that say why not."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

import msgspec

from generator.model.cluster import Cluster, ClusterFile
from generator.model.finding import Finding, Path
from generator.model.quantity import Quantity
from generator.model.resolve import resolve
from generator.model.text import AddressRange, Port, Taint
from generator.spec.document import Document

# What the custom types read: the texts that a cluster file may hold for each.
TEXTS: dict[type, Any] = {
    AddressRange: AddressRange.parse,
    IPv4Address: IPv4Address,
    IPv4Network: IPv4Network,
    IPv6Address: IPv6Address,
    IPv6Network: IPv6Network,
    Port: Port.parse,
    Taint: Taint.parse,
}


def decode(document: Document) -> Cluster | list[Finding]:
    """Return the cluster, or every reason why the file is not one. A document with syntax findings of
    its own is decoded all the same, so that all findings come in one run.
    """
    why = ""
    try:
        file = msgspec.convert(document.value, ClusterFile, dec_hook=hook)
    except msgspec.ValidationError as error:
        why = str(error)
    if why or _has_empty(document.value):
        from generator.spec.mistakes import explain  # noqa: PLC0415 - jsonschema is slow to import

        findings = explain(document, why, hook)
        if findings:
            return findings
    return resolve(file)


def decode_rest(document: Document, findings: list[Finding]) -> tuple[Cluster, list[Path]] | None:
    """Return what the cluster would be without the mistakes that `findings` tell, and the places of the file, from its
    beginning, that were changed or left out for it; None where too much is wrong.
    """
    from generator.spec.repair import repaired  # noqa: PLC0415 - only for files that are wrong

    found = repaired(document, findings, hook)
    if found is None:
        return None
    value, places = found
    try:
        return resolve(msgspec.convert(value, ClusterFile, dec_hook=hook)), places
    except msgspec.ValidationError:
        return None


def _has_empty(value: Any) -> bool:
    """Tell whether a key or an item is empty, outside of chart values, where null has a meaning. msgspec takes null for
    a key that was left out; here it may be a section whose content got lost.
    """
    if isinstance(value, dict):
        return any(_has_empty(each) for key, each in value.items() if key != "values")
    return value is None or (isinstance(value, list) and any(map(_has_empty, value)))


def hook(kind: type, value: Any) -> Any:
    """Read one value of a custom type; raises ValueError, which msgspec turns into its own error."""
    if kind is Quantity:
        if not isinstance(value, (str, int)):
            raise ValueError(f"`{value}` is not an amount such as 128, 500m or 1.5Ti")
        return Quantity.parse(value)
    if not isinstance(value, str):
        raise ValueError(f"`{value}` is not text")  # noqa: TRY004 - what msgspec expects of a hook
    if kind in {IPv4Network, IPv6Network} and "/" not in value:
        raise ValueError(f"`{value}` has no prefix length, as in {value}/24")
    if "%" in value and kind in {IPv6Address, IPv6Network}:
        raise ValueError(f"`{value}` names an interface of one machine, which means nothing on others")
    return TEXTS[kind](value)
