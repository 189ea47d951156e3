"""The cluster `lab`, which has the components that no reference cluster has, made of gpu-serving's file."""

from pathlib import Path
from typing import Any

import yaml
from mergepatch import merged
from reference import ROOT

Object = dict[str, Any]
CHANGES = Path(__file__).with_name("lab.yaml")


def lab() -> Object:
    """Return the values of its file."""
    file = ROOT / "clusters" / "gpu-serving" / "cluster.yaml"
    whole, changes = (yaml.load(one.read_bytes(), yaml.CSafeLoader) for one in (file, CHANGES))
    return dict(merged(whole, changes))
