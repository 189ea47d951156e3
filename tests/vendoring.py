"""What tests of `gen vendor` share: parts of charts, and what Kustomize makes of an overlay."""

import subprocess
from typing import Any

import yaml
from chartworld import World

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
