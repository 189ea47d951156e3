"""A small cluster with racks, Ceph and MinIO, on whose twin several operations are played one after the other."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from rehearsing import Repository

from generator.day2.workflows.operations import values
from generator.rehearsal.laid_out import LaidOut, lay_out
from generator.rehearsal.rehearse import Clock
from generator.rehearsal.simulation.simulate import Play, operation
from generator.rehearsal.simulation.text import lines
from generator.rehearsal.standing import Standing, standing
from generator.review.sides import Wanted, both_sides

Object = dict[str, Any]
DISKS = [{"use": "ceph", "model": "any", "count": 1, "size": "1T", "class": "nvme"}]
DRIVES = [{"use": "objects", "model": "any", "count": 4, "size": "1T", "class": "hdd"}]
POOLS = {
    "store": {"hardware": {"cpu": 32, "memory": "128Gi", "disks": DISKS}},
    "nas": {
        "hardware": {"cpu": 32, "memory": "128Gi", "disks": DRIVES},
        "taints": ["gen.internal/objects=present:NoSchedule"],
    },
}
RBD = {"name": "rbd", "deviceClass": "nvme", "replicas": 4, "failureDomain": "host", "default": True, "quota": "500Gi"}
STORAGE = {
    "ceph": {"pools": ["store"], "monitors": 3, "blockPools": [RBD]},
    "objects": {"pool": "nas", "host": "minio.small.example.org", "buckets": [{"name": "kept", "quota": "1T"}]},
}


def racked(repository: Repository) -> None:
    """Give the cluster four nodes with an OSD each, four with drives of MinIO, and racks to all."""
    spec = yaml.load(repository.file.read_bytes(), yaml.CSafeLoader)
    own = spec["spec"]
    own["gpuCare"] = {"drain": True}
    own["kubernetes"]["upgrades"] = "timer"
    own["pools"] |= POOLS
    for pool, first in (("store", 20), ("nas", 30)):
        own["nodes"] += [{"name": f"{pool}{n}", "pool": pool, "address": f"192.0.2.{first + n}"} for n in range(1, 5)]
    for number, node in enumerate(own["nodes"]):
        node["rack"] = f"r{number % 2 + 1}"
    own["storage"] = STORAGE
    repository.file.write_text(yaml.safe_dump(spec, sort_keys=False))
    done = repository.gen("render")
    assert done.returncode == 0, done.stdout + done.stderr
    repository.commit()


class Plays:
    """The twin, and what an operation comes to there."""

    def __init__(self, base: Standing, found: LaidOut, folder: Path) -> None:
        self.base, self.found, self.folder = base, found, folder
        self.twin = base.twin.cluster

    def play(self, name: str, **told: str) -> tuple[Object, str]:
        """Play an operation: what is found, as data and as a terminal shows it."""
        folder = self.folder / f"{len([*self.folder.iterdir()])}"
        folder.mkdir()
        template = operation(self.found, name)
        given = values(template, {key.replace("_", "-"): value for key, value in told.items()})
        made = Play(self.base, self.found, Clock(lambda _: None), None).play(template, given, folder)
        return json.loads(json.dumps(made.data())), "\n".join(lines(made))


@contextlib.contextmanager
def played(repository: Repository, folder: Path) -> Iterator[Plays]:
    """Run a twin of the cluster."""
    for one in ("a", "t", "plays"):
        (folder / one).mkdir()
    wanted = Wanted(base="HEAD", clusters=("small",))
    with both_sides(repository.root, wanted) as sides:
        found = lay_out(sides.new, "small", folder / "a")
    with standing(found, folder / "t") as base:
        yield Plays(base, found, folder / "plays")
