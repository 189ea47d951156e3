"""The GPUs of a node: as NVIDIA's GPU feature discovery labels it, and as its device plugin offers them."""

import re
from typing import Any

from generator.components.component import Manifest
from generator.live.survey.notes import Notes
from generator.live.survey.seen import text
from generator.model.fields import amount, dig, mapping
from generator.model.finding import Path
from generator.model.gpus import GPU, MIG, VENDOR, WHOLE, largest
from generator.model.quantity import Quantity

PRODUCT, MEMORY, COUNT = f"{VENDOR}gpu.product", f"{VENDOR}gpu.memory", f"{VENDOR}gpu.count"
REPLICAS, CONFIG, STRATEGY = f"{VENDOR}gpu.replicas", f"{VENDOR}mig.config", f"{VENDOR}mig.strategy"
# What is put behind a model: how it is shared or split, its memory and how it is built.
_BEHIND = re.compile(r"-(SHARED|MIG-.*)$")
_GB = re.compile(r"(?<![0-9])([0-9]{2,3})GB")
_FORMS = re.compile(r"-(PCIE|SXM[0-9]*|HBM[0-9]*e?|NVL|[0-9]+GB).*$", re.IGNORECASE)


def gpu(node: Manifest, at: Path, notes: Notes) -> dict[str, Any]:
    """Return the GPUs of a node as the file has them; nothing where it has none. Facts: the labels of
    k8s-device-plugin's GPU feature discovery; a product behind which `-SHARED` or `-MIG-...` stands is one that pods
    share.
    """
    labels = mapping(dig(node, "metadata", "labels"))
    count = _count(node, labels)
    if not count:
        return {}
    product = _BEHIND.sub("", text(labels, PRODUCT))
    model = short(product)
    if not model:
        notes.unknown(at, f"the model of its GPUs: there is no label {PRODUCT}")
    found: dict[str, Any] = {"model": model or "GPU", "count": count, "memory": _memory(node, product, at, notes)}
    profile = text(labels, CONFIG)
    if profile and profile != WHOLE:
        found["mig"] = {"profile": profile}
    if (turns := _number(labels, REPLICAS)) > 1:
        found["timeSlices"] = turns
    return found


def short(product: str) -> str:
    """Return a product's name as the file has models: `NVIDIA-H100-80GB-HBM3` is an H100."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", product).removeprefix("NVIDIA-").removeprefix("Tesla-")
    known = next((word for word in re.split(r"[^A-Z0-9]+", name.upper()) if largest(word) is not None), "")
    return known or _FORMS.sub("", name).strip("-._")[:63]


def _count(node: Manifest, labels: dict[str, Any]) -> int:
    """Return how many GPUs are in the machine: the label says it however they are split, else what pods find of whole
    ones, less turns.
    """
    if labelled := _number(labels, COUNT):
        return min(labelled, 64)
    capacity = mapping(dig(node, "status", "capacity"))
    whole = (amount(capacity.get(GPU)) or 0) // 1000 // max(_number(labels, REPLICAS), 1)
    split = any(name.startswith(MIG) and amount(count) for name, count in capacity.items())
    return min(whole or int(split), 64)


def _memory(node: Manifest, product: str, at: Path, notes: Notes) -> str:
    """Return the memory of one GPU as it is sold: what the driver sees of 80 GB is somewhat less."""
    seen = _number(mapping(dig(node, "metadata", "labels")), MEMORY)
    if sold := _GB.search(product):
        return f"{sold[1]}Gi"
    most = largest(product)
    if not seen:
        notes.unknown(at, f"the memory of one of its GPUs: there is no label {MEMORY}")
        return f"{most or 80}Gi"
    gibibytes = -(-seen // 1024)
    if most and gibibytes <= most <= gibibytes * 1.1:
        return f"{most}Gi"
    return str(Quantity.of(gibibytes * 2**30, binary=True))


def _number(labels: dict[str, Any], key: str) -> int:
    found = str(labels.get(key, ""))
    return int(found) if found.isascii() and found.isdigit() and len(found) < 10 else 0
