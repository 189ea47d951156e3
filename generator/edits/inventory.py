"""A first cluster file from a table of nodes (CSV), as spreadsheets and inventories export it."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network
from itertools import islice
from typing import Any

from generator.errors import UsageError
from generator.model.plural import plural
from generator.spec.edit import set_value
from generator.spec.edit_keys import put_value
from generator.spec.near import suggest
from generator.spec.scalars import inline

Row = Mapping[str, str]
COLUMNS = (
    *("name", "pool", "address", "role", "rack", "mac", "storage", "bmc"),
    *("cpu", "memory", "gpus", "gpu_model", "gpu_memory"),
)
"""What a table may say of nodes; the first three it must."""
_NEEDED = COLUMNS[:3]
_FIRST = "  # Hardware once for each pool"
# For what a table does not say: small enough to be true of most nodes.
_CPU, _MEMORY = 16, "64Gi"
_PODS = ("10.244.0.0", "172.16.0.0", "192.168.0.0", "10.0.0.0")
_SERVICES = ("10.96.0.0/12", "172.24.0.0/16", "192.168.0.0/16")


def rows_of(text: str, file: str) -> list[Row]:
    """Read a table with a first line that names its columns; raises UsageError."""
    lines = text.removeprefix("\ufeff").splitlines()
    first = lines[0] if lines else ""
    delimiter = next((each for each in (",", ";", "\t") if each in first), ",")
    table = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)]
    columns = [column.lower() for column in table[0]] if table else []
    for column in columns:
        if column not in COLUMNS:
            hint = suggest(column, COLUMNS, f"there are {', '.join(COLUMNS)}")
            raise UsageError(f"{file}:1: `{column}` is no column; {hint}")
    if missing := [column for column in _NEEDED if column not in columns]:
        raise UsageError(
            f"{file}:1: no column {missing[0]}: the first line names the columns, as in `name,pool,address`"
        )
    numbered = [(number, row) for number, row in enumerate(table[1:], 2) if any(row)]
    if not numbered:
        raise UsageError(f"{file}: there is no node below the first line")
    return [_row(columns, row, f"{file}:{number}") for number, row in numbered]


def _row(columns: list[str], cells: list[str], at: str) -> Row:
    if len(cells) > len(columns):
        raise UsageError(f"{at}: {plural(len(cells), 'cell')} for {plural(len(columns), 'column')}")
    row = {column: cell for column, cell in zip(columns, cells, strict=False) if cell}
    for column in _NEEDED:
        if column not in row:
            raise UsageError(f"{at}: no {column}")
    for column in ("address", "storage", "bmc"):
        try:
            IPv4Address(row.get(column, "0.0.0.0"))  # noqa: S104 - nothing listens
        except ValueError:
            raise UsageError(f"{at}: {column} `{row[column]}` is no address such as 10.10.0.101") from None
    for column in ("cpu", "gpus"):
        if not row.get(column, "0").isdecimal():
            raise UsageError(f"{at}: {column} `{row[column]}` is no whole number")
    return row


def cluster_file_from(starter: str, rows: list[Row]) -> str:
    """Return the text of a cluster file with these nodes: `starter` is one with others."""
    pools: dict[str, list[Row]] = {}
    for row in rows:
        pools.setdefault(row["pool"], []).append(row)
    if not any(_controls(name, members) for name, members in pools.items()):
        raise UsageError("no node has the role control-plane: add a column `role`, or name their pool system")
    head = _networks(starter[: starter.index(_FIRST)], rows)
    followed = {network: _is_followed(rows, network) for network in ("storage", "bmc") if _follows(rows, network)}
    lines = [*_pools(pools), "", "  nodes:"]
    lines += [f"    - {inline(_node(row, pools[row['pool']][0], followed))}" for row in rows]
    return head + "\n".join([*lines, *_team(pools)]) + "\n"


def _controls(pool: str, members: Iterable[Row]) -> bool:
    roles = {row["role"] for row in members if "role" in row}
    return "control-plane" in roles if roles else pool in {"system", "control-plane"}


def _networks(head: str, rows: list[Row]) -> str:
    """Return the beginning of the file with networks that hold the addresses and no other one's."""
    node = _around(rows, "address")
    taken = {IPv4Address(row["address"]) for row in rows}
    candidates = (node[10], *islice(node.hosts(), 1, len(taken) + 2))
    free = next((each for each in candidates if each not in taken), node[10])
    text = set_value(head, ("spec", "kubernetes", "endpoint", "address"), f"{free}:6443")
    others = {network: _around(rows, network) for network in ("storage", "bmc") if any(network in row for row in rows)}
    blocks = [node, *others.values()]
    prefix = min(16, 24 - (len(rows) - 1).bit_length())
    pods = _apart((f"{each}/{prefix}" for each in _PODS), blocks)
    text = set_value(text, ("spec", "kubernetes", "podCIDR"), pods)
    services = _apart(_SERVICES, [*blocks, IPv4Network(pods)])
    text = set_value(text, ("spec", "kubernetes", "serviceCIDR"), services)
    at = ("spec", "networks")
    gateway = {} if node[1] in taken else {"gateway": str(node[1])}
    text = put_value(text, (*at, "node"), {"cidr": str(node), "interface": "eno1", **gateway})
    for network, cidr in others.items():
        interface = {"interface": "eno2"} if network == "storage" else {}
        follow = {"follow": "node"} if _follows(rows, network) else {}
        text = put_value(text, (*at, network), {"cidr": str(cidr), **interface, **follow})
    return text


def _around(rows: Iterable[Row], column: str) -> IPv4Network:
    return around([IPv4Address(row[column]) for row in rows if column in row])


def around(addresses: Sequence[IPv4Address]) -> IPv4Network:
    """Return the smallest network of 256 addresses or more that holds all."""
    network = IPv4Network((addresses[0], 24), strict=False)
    while not all(address in network for address in addresses):
        network = network.supernet()
    return network


def _apart(candidates: Iterable[str], blocks: list[IPv4Network]) -> str:
    networks = [IPv4Network(each, strict=False) for each in candidates]
    free = (each for each in networks if not any(each.overlaps(block) for block in blocks))
    return str(next(free, networks[0]))


def _follows(rows: list[Row], network: str) -> bool:
    """Tell whether a network follows the node network: each node has an address in it, and most have their number."""
    apart = _around(rows, "address") != _around(rows, network) if any(network in row for row in rows) else False
    alike = sum(map(_is_followed(rows, network), rows)) if apart else 0
    return apart and all(network in row for row in rows) and alike * 2 > len(rows)


def _is_followed(rows: list[Row], network: str) -> Callable[[Row], bool]:
    """Return whether a node has the host number in this network that it has in the node network."""
    step = int(_around(rows, network)[0]) - int(_around(rows, "address")[0])
    return lambda row: network in row and int(IPv4Address(row[network])) - int(IPv4Address(row["address"])) == step


def _pools(pools: Mapping[str, list[Row]]) -> list[str]:
    lines = [f"{_FIRST}; a node below may override any key.", "  pools:"]
    ordinary = any(not _gpus(rows[0]) and not _controls(name, rows) for name, rows in pools.items())
    for name, rows in pools.items():
        lines.append(f"    {inline(name)}:")
        if _controls(name, rows):
            lines.append("      role: control-plane")
            lines += [] if ordinary else ["      taints: []   # the platform's own pods run here"]
        elif _gpus(rows[0]):
            lines.append("      taints: [nvidia.com/gpu=present:NoSchedule]")
        guessed = "" if {"cpu", "memory"} <= rows[0].keys() else "   # a guess: the table does not say"
        lines.append(f"      hardware: {inline(_hardware(rows[0]))}{guessed}")
    return lines


def _hardware(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = {"cpu": int(row.get("cpu", _CPU)), "memory": row.get("memory", _MEMORY)}
    if _gpus(row):
        gpu = {"model": row.get("gpu_model", "GPU"), "count": _gpus(row), "memory": row.get("gpu_memory", "80Gi")}
        found["gpu"] = gpu
    return found


def _gpus(row: Row) -> int:
    return int(row.get("gpus", 0))


def _node(row: Row, first: Row, followed: Mapping[str, Callable[[Row], bool]]) -> dict[str, Any]:
    """Return a node's values: addresses that do not follow, hardware that is not that of the first one of its pool."""
    item: dict[str, Any] = {key: row[key] for key in ("name", "pool", "address", "rack", "mac") if key in row}
    given = [network for network in ("storage", "bmc") if network in row]
    addresses = {each: row[each] for each in given if each not in followed or not followed[each](row)}
    shared, own = _hardware(first), _hardware(row)
    if _gpus(first) and "gpu" not in own:
        own["gpu"] = {**shared["gpu"], "count": 0}
    other = {key: value for key, value in own.items() if value != shared.get(key)}
    return item | ({"addresses": addresses} if addresses else {}) | ({"hardware": other} if other else {})


def _team(pools: Mapping[str, list[Row]]) -> list[str]:
    quotas = {name: sum(map(_gpus, rows)) for name, rows in pools.items() if any(map(_gpus, rows))}
    if not quotas:
        return []
    return [
        "",
        "  teams:",
        "    - name: research",
        f"      quotas: {inline({n: {'gpus': c} for n, c in quotas.items()})}",
    ]
