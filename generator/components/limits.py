"""From where on what is measured is a fault: the same in Zabbix and in Prometheus."""

from generator.model.capacity import NEARFULL as CEPH_WARNS

GPU_HOT, GPU_TOO_HOT = 85, 90
"""Degrees Celsius of a GPU."""
NEARFULL, FULL = round(100 * CEPH_WARNS), 95
"""Percent: at the first Ceph itself warns of an OSD, at the second its writes stop."""
PORT_ERRORS = 10
"""Errors of one kind in an hour that an InfiniBand port may have."""
PORT_COUNTERS = {
    "symbol_error": "symbol errors",
    "link_error_recovery": "recoveries of the link",
    "link_downed": "times the link went down",
    "port_rcv_errors": "errors received",
    "port_xmit_discards": "packets discarded",
    "local_link_integrity_errors": "integrity errors",
    "excessive_buffer_overrun_errors": "buffer overruns",
}
"""Counters of a port that are looked at, as the kernel names them, and what each counts."""


def port_errors(counter: str) -> int:
    """Return how many of a counter's errors an hour may have: a link that was lost once is one too many."""
    return 0 if counter == "link_downed" else PORT_ERRORS
