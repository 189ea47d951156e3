"""What tests of `gen vendor` share: parts of charts, and what Kustomize makes of an overlay."""

import subprocess
from pathlib import Path
from typing import Any

import msgspec
import yaml
from chartshop import CONFIG_MAP, Shop
from chartworld import World, component, release

from generator.components.component import Namespace
from tools import need_kustomize

SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {word: {{ randAlphaNum 8 | quote }}}\n"
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.example.org}
spec:
  group: example.org
  names: {kind: Toy, plural: toys, listKind: ToyList, singular: toy}
  scope: Cluster
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: DESCRIPTION}}}
"""


def built(world: World, cluster: str = "one", name: str = "toy") -> list[dict[str, Any]]:
    """Return what Kustomize makes of an overlay, without --enable-helm."""
    argv = [*need_kustomize(), str(world.root / "overlays" / cluster / name)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return list(yaml.load_all(done.stdout, yaml.CSafeLoader))


def toys(two: World, shop: Shop) -> bytes:
    """Commit two clusters that share a chart, of which nothing is vendored; returns their components, for `chartworld`
    as a program.
    """
    shop.add(files={"templates/map.yaml": CONFIG_MAP, "crds/toys.yaml": DEFINITION})
    shop.add("other")
    toy = component(release(shop.url), namespaces=(Namespace(name="toy"), Namespace(name="argocd")))
    other = component(release(shop.url, "other"), name="other", namespaces=(Namespace(name="other"),))
    two.installs(toy)
    two.installs(toy, other, on=("two",))
    two.gen("render")
    two.commit()
    return msgspec.json.encode(two.spec)


def held(root: Path) -> dict[str, bytes]:
    """Return the files of a clone."""
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}
