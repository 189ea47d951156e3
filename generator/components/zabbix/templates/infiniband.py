"""What the agent of a node sends of its InfiniBand ports."""

from generator.components.component import Manifest
from generator.components.zabbix.export import (
    dashboard,
    dependent,
    discovery,
    graph,
    lld,
    raw,
    step,
    template,
    trigger,
)

__all__ = ["INFINIBAND", "infiniband"]

INFINIBAND = "gen InfiniBand"


def infiniband() -> Manifest:
    """Return the template of a node with InfiniBand: one reading of all ports' counters."""
    missing = trigger("InfiniBand ports are missing", "max(/@/infiniband.count,5m)<{$IB.PORTS}", "HIGH")
    return template(
        INFINIBAND,
        "InfiniBand ports, as the kernel tells of them",
        macros={"{$IB.PORTS}": "1", "{$IB.RATE}": "0", "{$IB.ERRORS.MAX}": "10"},
        items=[
            raw("infiniband.ports", "InfiniBand ports"),
            dependent(
                "infiniband.ports", "infiniband.count", "Ports", step("JSONPATH", "$.length()"), triggers=[missing]
            ),
        ],
        discovery_rules=[ports()],
        dashboards=[dashboard("InfiniBand", "{#PORT}: throughput", "{#PORT}: errors")],
    )


def ports() -> Manifest:
    """Find the ports of all devices."""
    return discovery(
        "infiniband.discovery",
        "Ports",
        master="infiniband.ports",
        lld_macro_paths=lld(PORT="$.name"),
        item_prototypes=[*link(), *traffic(), *errors()],
        graph_prototypes=[
            graph("{#PORT}: throughput", "infiniband.received[{#PORT}]", "infiniband.sent[{#PORT}]"),
            graph("{#PORT}: errors", "infiniband.symbol_error[{#PORT}]", "infiniband.link_downed[{#PORT}]"),
        ],
    )


def of_port(key: str, name: str, field: str, *steps: Manifest, units: str = "", **more: list[Manifest]) -> Manifest:
    """Return an item of one port from a field of the reading. A field that the device lacks is left out."""
    path = f"$[?(@.name=='{{#PORT}}')].{field}.first()"
    found = step("JSONPATH", path, error_handler="DISCARD_VALUE")
    key = f"infiniband.{key}[{{#PORT}}]"
    return dependent("infiniband.ports", key, f"{{#PORT}}: {name}", found, *steps, units=units, **more)


def link() -> list[Manifest]:
    """State 4 is ACTIVE, the physical state 5 is LinkUp; the rate is in Gbit/s."""
    slow = "last(/@/infiniband.rate[{#PORT}])<{$IB.RATE}"
    return [
        of_port(
            "state",
            "state",
            "state",
            trigger_prototypes=[trigger("{#PORT}: the link is down", "max(/@/infiniband.state[{#PORT}],2m)<4", "HIGH")],
        ),
        of_port("physical", "physical state", "physical"),
        of_port(
            "rate",
            "rate",
            "rate",
            units="Gbps",
            trigger_prototypes=[trigger("{#PORT}: the link is slower than the fabric", slow, "AVERAGE")],
        ),
    ]


def traffic() -> list[Manifest]:
    """Return throughput: the kernel counts data in words of 4 bytes."""
    words = (step("MULTIPLIER", "4"), step("CHANGE_PER_SECOND"))
    return [
        of_port("received", "received", "port_rcv_data", *words, units="Bps"),
        of_port("sent", "sent", "port_xmit_data", *words, units="Bps"),
        of_port("wait", "waits for credits", "port_xmit_wait", step("CHANGE_PER_SECOND")),
    ]


COUNTERS = {
    "symbol_error": "symbol errors",
    "link_error_recovery": "recoveries of the link",
    "link_downed": "times the link went down",
    "port_rcv_errors": "errors received",
    "port_xmit_discards": "packets discarded",
    "local_link_integrity_errors": "integrity errors",
    "excessive_buffer_overrun_errors": "buffer overruns",
}


def errors() -> list[Manifest]:
    """Return the ports' error counters; ten in an hour of any kind are a problem, a single lost link too."""
    return [
        of_port(
            field,
            name,
            field,
            trigger_prototypes=[
                trigger(
                    f"{{#PORT}}: {name}",
                    f"last(/@/infiniband.{field}[{{#PORT}}])-min(/@/infiniband.{field}[{{#PORT}}],1h)>"
                    + ("0" if field == "link_downed" else "{$IB.ERRORS.MAX}"),
                    "WARNING",
                )
            ],
        )
        for field, name in COUNTERS.items()
    ]
