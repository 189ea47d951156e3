"""From values to types: what is read, what is refused, and that nothing heavy is imported for a right file."""

import subprocess
import sys
from copy import deepcopy
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path
from typing import Any

import pytest

from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.text import AddressRange, Port, Taint
from generator.spec.decode import decode, hook
from generator.spec.document import Document
from generator.spec.reader import read

MINIMAL = Path(__file__).parent.parent / "wrong" / "valid" / "minimal.yaml"


def test_a_right_file_is_a_cluster() -> None:
    cluster = decode(read(MINIMAL.read_bytes(), "f"))
    assert isinstance(cluster, Cluster)
    assert cluster.name == "lab"
    assert cluster.kubernetes.pod_cidr == IPv4Network("10.244.0.0/16")
    assert [machine.name for machine in cluster.control_plane] == ["cp-1", "cp-2", "cp-3"]


def test_a_wrong_file_gives_findings_and_an_empty_one_as_well() -> None:
    assert isinstance(decode(Document("f", "")), list)
    assert [each.code for each in decode(Document("f", ""))] == ["GEN-SCHEMA-002"] * 4  # type: ignore[union-attr]


def test_values_are_read_not_changed() -> None:
    document = read(MINIMAL.read_bytes(), "f")
    before = deepcopy(document.value)
    decode(document)
    assert document.value == before


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        (AddressRange, "10.0.0.0/28", AddressRange(IPv4Address("10.0.0.0"), IPv4Address("10.0.0.15"))),
        (IPv4Address, "10.0.0.1", IPv4Address("10.0.0.1")),
        (IPv4Network, "10.0.0.0/24", IPv4Network("10.0.0.0/24")),
        (IPv6Address, "fd00::1", IPv6Address("fd00::1")),
        (IPv6Network, "fd00::/64", IPv6Network("fd00::/64")),
        (Port, "ib-leaf-1/12", Port("ib-leaf-1", 12)),
        (Taint, "a=b:NoSchedule", Taint("a", "b", "NoSchedule")),
        (Quantity, "1.5Gi", Quantity.of(1536 * 2**20)),
        (Quantity, 128, Quantity.of(128)),
    ],
)
def test_texts_are_read_as_what_they_stand_for(kind: type, given: Any, value: Any) -> None:
    assert hook(kind, given) == value


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (IPv4Network, 12),
        (IPv4Network, True),
        (IPv4Network, "10.0.0.0"),
        (IPv4Network, "10.0.0.1/24"),
        (IPv4Network, "10.0.0.0/33"),
        (IPv4Address, 167772161),
        (IPv4Address, "10.0.0.01"),
        (IPv4Address, "\u0661.0.0.1"),
        (IPv6Address, "fe80::1%eno1"),
        (IPv6Network, "fe80::%eno1/64"),
        (IPv6Network, "fd00::"),
        (AddressRange, "10.0.0.0"),
        (Port, "ib-leaf-1/0"),
        (Port, 1),
        (Taint, None),
        (Quantity, True),
        (Quantity, 1.5),
        (Quantity, None),
        (Quantity, [1]),
        (Quantity, -1),
    ],
)
def test_what_only_looks_like_it_is_refused(kind: type, given: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        hook(kind, given)


def test_a_right_file_costs_no_slow_import() -> None:
    code = (
        "import sys; from generator.spec.decode import decode; from generator.spec.reader import read; "
        "from pathlib import Path; decode(read(Path(sys.argv[1]).read_bytes(), 'f')); "
        "print([name for name in ('jsonschema', 'difflib', 'generator.spec.schema') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, MINIMAL], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
