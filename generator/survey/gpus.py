"""The GPUs of a node: as NVIDIA's GPU feature discovery labels it, and as its device plugin offers them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from generator.components.component import Manifest
from generator.model.fields import amount, dig, mapping
from generator.model.finding import Path
from generator.model.gpus import GPU, MIG, VENDOR, WHOLE, configurations, largest
from generator.model.nodes import Gpu
from generator.model.quantity import Quantity
from generator.survey.notes import Notes
from generator.survey.seen import text

Plain: TypeAlias = dict[str, Any]
PRODUCT, MEMORY, COUNT = f"{VENDOR}gpu.product", f"{VENDOR}gpu.memory", f"{VENDOR}gpu.count"
REPLICAS, CONFIG = f"{VENDOR}gpu.replicas", f"{VENDOR}mig.config"
MOST = 64
# What is put behind a product: the instances it is split into, and that pods take turns.
_SPLIT = re.compile(r"-MIG-(.+?)(-SHARED)?$")
_SHARED = re.compile(r"-SHARED$")
_GB = re.compile(r"(?<![0-9])([0-9]{2,3})GB")
_FORMS = re.compile(r"-(PCIE|SXM[0-9]*|HBM[0-9]*e?|NVL|[0-9]+GB).*$", re.IGNORECASE)


def gpu(node: Manifest, at: Path, notes: Notes) -> Plain:
    """Return the GPUs of a node as the file has them; nothing where it has none.

    Facts: the README of k8s-device-plugin's GPU feature discovery. With the MIG strategy `single` product, count and
    memory are those of the instances. Of several models in one machine it labels one, with the count of these.
    """
    labels, capacity = mapping(dig(node, "metadata", "labels")), mapping(dig(node, "status", "capacity"))
    product = text(labels, PRODUCT)
    whole = _offered(capacity, GPU) // max(_number(labels, REPLICAS), 1)
    named = {name.removeprefix(MIG): _offered(capacity, name) for name in capacity if name.startswith(MIG)}
    instances = {name: count for name, count in named.items() if count}
    if split := _SPLIT.search(product):
        instances = {split[1]: whole}
    if not (whole or instances or _number(labels, COUNT)):
        return {}
    model = short(_SHARED.sub("", _SPLIT.sub("", product)))
    if not model:
        notes.unknown(at, f"the model of its GPUs: there is no label {PRODUCT}")
    memory = _memory(product, 0 if split else _number(labels, MEMORY), at, notes)
    found: Plain = {"model": model or "GPU", "count": 0, "memory": memory}
    if instances:
        found |= _split(found, instances, text(labels, CONFIG), at, notes)
    else:
        found["count"] = _count(whole, _number(labels, COUNT), at, notes)
    if (turns := _number(labels, REPLICAS)) > 1:
        found["timeSlices"] = min(turns, MOST)
    return found


def gpus(nodes: Iterable[Manifest]) -> Plain:
    """Return the section `gpus`: whether nodes offer instances by their names."""
    capacities = (mapping(dig(node, "status", "capacity")) for node in nodes)
    mixed = any(name.startswith(MIG) and _offered(one, name) for one in capacities for name in one)
    return {"migStrategy": "mixed"} if mixed else {}


def short(product: str) -> str:
    """Return a product's name as the file has models: `NVIDIA-H100-80GB-HBM3` is an H100."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", product).removeprefix("NVIDIA-").removeprefix("Tesla-")
    known = next((word for word in re.split(r"[^A-Z0-9]+", name.upper()) if largest(word) is not None), "")
    return known or _FORMS.sub("", name)[:63].strip("-._")


def _count(whole: int, labelled: int, at: Path, notes: Notes) -> int:
    if whole and labelled and whole != labelled:
        notes.unknown(at, f"whether its GPUs are alike: pods find {whole}, and {COUNT} counts {labelled} of this model")
    return min(whole or labelled, MOST)


def _split(found: Plain, instances: Mapping[str, int], config: str, at: Path, notes: Notes) -> Plain:
    """Return how many GPUs there are and how they are split, from the instances that the node offers."""
    whole = Gpu(model=found["model"], count=1, memory=Quantity.parse(found["memory"]))
    known = configurations(whole)
    given = (
        config
        if config not in {"", WHOLE}
        else next((n for n, each in known.items() if set(each) == set(instances)), "")
    )
    per = known.get(given, {})
    counts = {-(-count // per[name]) for name, count in instances.items() if name in per}
    if len(counts) == 1 and set(per) == set(instances):
        return {"count": min(counts.pop(), MOST), "mig": {"profile": given}}
    notes.unknown(at, "how many GPUs there are: they are split in a way that is not known here")
    valid = {name: min(count, 448) for name, count in instances.items()}
    profile = re.sub(r"[^A-Za-z0-9._-]", "-", given).strip("-._")[:60] or "custom"
    return {"count": 1, "mig": {"profile": profile, "instances": valid}}


def _memory(product: str, seen: int, at: Path, notes: Notes) -> str:
    """Return the memory of one GPU as it is sold: what the driver sees, in MiB, of 80 GB is somewhat less."""
    if sold := _GB.search(product.partition("-MIG-")[0]):
        return f"{sold[1]}Gi"
    most = largest(short(product.partition("-MIG-")[0]))
    if not seen:
        notes.unknown(at, f"the memory of one of its GPUs: there is no label {MEMORY}, or it is that of an instance")
        return f"{most or 80}Gi"
    gibibytes = -(-seen // 1024)
    if most and gibibytes <= most <= gibibytes * 1.1:
        return f"{most}Gi"
    return str(Quantity.of(gibibytes * 2**30, binary=True))


def _offered(capacity: Plain, name: str) -> int:
    return (amount(capacity.get(name)) or 0) // 1000


def _number(labels: Plain, key: str) -> int:
    found = str(labels.get(key, ""))
    return int(found) if found.isascii() and found.isdigit() and len(found) < 10 else 0
