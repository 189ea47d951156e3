"""What the proxy reads of operations that failed: from what Argo Workflows tells of them, which it asks for anyway."""

from generator.components.component import Manifest
from generator.components.reports.metrics import FAILED, SCHEDULED, SUCCEEDED, TOLD_FOR
from generator.components.zabbix.export import condition, dependent, discovery, lld, prometheus, step, trigger

WORDS = "Operation {#OPERATION} failed or was stopped: see `gen workflow list`"


def failures(master: str) -> Manifest:
    """Find the operations of which a run failed. Argo Workflows forgets all ends when its controller is started anew:
    of good runs the newest end within a day counts, and of the others the last one that was told.
    """
    failed, good = "operation.failed[{#OPERATION}]", "operation.good[{#OPERATION}]"
    last = f"last(/@/{failed})"
    now = f"{last}>=max(/@/{good},{TOLD_FOR}s) and now()-{last}<{TOLD_FOR}"
    others = condition("{#OPERATION}", f"^({'|'.join(SCHEDULED)})$", "A", operator="NOT_MATCHES_REGEX")
    never = {"error_handler": "CUSTOM_VALUE", "error_handler_params": "0"}
    return discovery(
        "operations.failed",
        "Operations that failed",
        master=master,
        steps=[step("PROMETHEUS_TO_JSON", FAILED)],
        filter={"conditions": [others]},
        lld_macro_paths=lld(OPERATION="$.labels.operation"),
        item_prototypes=[
            _ended(master, failed, "newest end of a run that failed", prometheus(_of(FAILED), "max")),
            _ended(master, good, "newest end of a good run", {**prometheus(_of(SUCCEEDED), "max"), **never}),
        ],
        trigger_prototypes=[trigger(WORDS, now, "WARNING")],
    )


def _of(metric: str) -> str:
    return f'{metric}{{operation="{{#OPERATION}}"}}'


def _ended(master: str, key: str, what: str, taken: Manifest) -> Manifest:
    return dependent(master, key, f"Operation {{#OPERATION}}: {what}", taken, units="unixtime")
