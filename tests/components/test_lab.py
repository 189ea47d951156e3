"""The cluster `lab`, on which `tests/real/test_whole_lab.py` installs what no reference cluster has."""

import pytest
import yaml
from labcluster import lab
from reference import load

from generator.checks import check
from generator.components import CATALOGUE, compose
from generator.model.cluster import Cluster
from generator.spec.decode import decode
from generator.spec.reader import read


@pytest.fixture(scope="module")
def made() -> Cluster:
    found = decode(read(yaml.safe_dump(lab(), sort_keys=False).encode(), "clusters/lab/cluster.yaml"))
    assert isinstance(found, Cluster), found
    return found


def test_it_has_all_that_no_reference_cluster_has(made: Cluster) -> None:
    reference = [load(name) for name in ("ml50", "a30-bench", "gpu-serving")]
    shown = {one.name for cluster in (*reference, made) for one in compose(cluster)}
    assert sorted(CATALOGUE.keys() - shown) == []


def test_its_file_is_right(made: Cluster) -> None:
    assert [one.code for one in check(made) if one.severity == "error"] == []
