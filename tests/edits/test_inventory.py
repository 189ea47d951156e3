"""A first cluster file from a table of nodes."""

from ipaddress import IPv4Address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nodelab import errors, source

from generator.edits.inventory import COLUMNS, cluster_file_from, rows_of
from generator.errors import UsageError
from generator.repository.scaffold import starter

STARTER = starter("lab").decode()
TABLE = """\
name,pool,address,rack,storage,bmc,gpus,gpu_model,gpu_memory,cpu,memory
cp-1,system,10.5.0.11,r1,10.6.0.11,10.7.0.11,,,,32,128Gi
cp-2,system,10.5.0.12,r2,10.6.0.12,10.7.0.12,,,,32,128Gi
cp-3,system,10.5.0.13,r3,10.6.0.13,10.7.0.13,,,,32,128Gi

gpu-1,gpu,10.5.1.21,r1,10.6.1.21,10.7.1.99,8,H100,80Gi,128,1Ti
gpu-2,gpu,10.5.1.22,r2,10.6.1.22,10.7.1.22,4,H100,80Gi,128,1Ti
"""


def made(table: str) -> str:
    return cluster_file_from(STARTER, rows_of(table, "nodes.csv"))


def test_a_table_becomes_a_file_that_is_right_as_it_stands() -> None:
    text = made(TABLE)
    assert errors(text) == []
    lines = text.split("\n")
    assert "    node: {cidr: 10.5.0.0/23, interface: eno1, gateway: 10.5.0.1}" in lines
    assert "    bmc: {cidr: 10.7.0.0/23, follow: node}" in lines
    assert "    - {name: cp-1, pool: system, address: 10.5.0.11, rack: r1}" in lines
    assert "    - {name: gpu-1, pool: gpu, address: 10.5.1.21, rack: r1, addresses: {bmc: 10.7.1.99}}" in lines
    assert "hardware: {gpu: {model: H100, count: 4, memory: 80Gi}}}" in lines[lines.index("  teams:") - 2]
    cluster = source(text).cluster
    assert cluster.machines[0].addresses == {"storage": IPv4Address("10.6.0.11"), "bmc": IPv4Address("10.7.0.11")}
    assert [machine.gpus for machine in cluster.machines] == [0, 0, 0, 8, 4]
    assert cluster.kubernetes.endpoint.address == "10.5.0.10:6443"


def test_what_the_table_does_not_say_is_a_guess_and_says_so() -> None:
    text = made("name;pool;address;role\na;infra;192.168.1.1;control-plane\nb;work;192.168.1.10;\n")
    assert text.count("# a guess: the table does not say") == 2
    assert "node: {cidr: 192.168.1.0/24, interface: eno1}" in text
    assert 'address: "192.168.1.2:6443"' in text
    assert "teams:" not in text
    assert errors(text) == []


@pytest.mark.parametrize(
    "table",
    [TABLE.replace(",", "\t"), "\ufeff" + TABLE, TABLE.replace("\n", "\r\n"), TABLE.replace("name,pool", "Name,POOL")],
)
def test_tables_as_spreadsheets_write_them(table: str) -> None:
    assert made(table).lower() == made(TABLE).lower()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("rack", "rak", "nodes.csv:1: `rak` is no column; did you mean rack?"),
        ("name,", "", "nodes.csv:1: no column name: the first line names"),
        ("10.5.0.12", "10.5.0.412", "nodes.csv:3: address `10.5.0.412` is no address"),
        ("cp-2,system", "cp-2,", "nodes.csv:3: no pool"),
        (",8,", ",eight,", "nodes.csv:6: gpus `eight` is no whole number"),
        ("80Gi,128,1Ti", "80Gi,128,1Ti,more", "nodes.csv:6: 12 cells for 11 columns"),
        (TABLE[TABLE.index("\n") :], "", "nodes.csv: there is no node below the first line"),
        (TABLE, "", "nodes.csv:1: no column name"),
        ("system", "cpu", "no node has the role control-plane: add a column `role`"),
    ],
)
def test_a_wrong_table_is_one_sentence_with_its_line(old: str, new: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        made(TABLE.replace(old, new) if new != "cpu" else TABLE.replace("system", "cpu"))


def test_many_nodes_have_slices_and_networks_of_theirs() -> None:
    rows = [f"n{number},system,172.16.{number // 250}.{number % 250 + 1}" for number in range(1, 400, 2)]
    text = made("\n".join(["name,pool,address", *rows[:3], *(row.replace("system", "cpu") for row in rows[3:])]))
    assert errors(text) == []
    assert "podCIDR: 10.244.0.0/16" in text
    wide = made("name,pool,address\na,system,1.0.0.1\nb,system,200.0.0.1\n")
    assert "node: {cidr: 0.0.0.0/0" in wide
    clash = made(TABLE.replace("10.5.", "10.244.").replace("10.6.", "10.96."))
    assert errors(clash) == []
    assert "podCIDR: 172.16.0.0/16" in clash


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80) | st.lists(st.sampled_from([*COLUMNS, ",", "\n", "a", '"', "10.0.0.1", ";"])).map("".join))
def test_any_text_is_a_table_or_refused(text: str) -> None:
    try:
        made(text)
    except UsageError as error:
        assert str(error)  # noqa: PT017 - either way is right
