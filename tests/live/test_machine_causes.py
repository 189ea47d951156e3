"""What machines tell of themselves, as `gen status` shows it."""

from datetime import UTC, datetime

import pytest

from generator.live.status.machine_causes import machine_causes

NOW = datetime(2026, 11, 27, tzinfo=UTC)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("reboot=2026-11-01T00:00:00Z files=a applied=a certificates=none", "it waits for a reboot since 2026-11-01"),
        ("reboot=2026-11-20T00:00:00Z files=a applied=a certificates=none", ""),
        (
            "reboot=no files=a applied=a certificates=2026-12-01T00:00:00Z",
            "the first certificate of its control plane: it ends in 4 days, on 2026-12-01",
        ),
        ("reboot=no certificates=2027-12-01T00:00:00Z", ""),
        ("reboot certificates==unknown", ""),
        ("", ""),
    ],
)
def test_only_what_somebody_must_do_is_told(told: str, why: str) -> None:
    node = {"metadata": {"name": "cp-1", "annotations": {"gen.internal/machine": told}}}
    found = list(machine_causes([node, {"metadata": {"name": "cp-2"}}], NOW))
    assert [one.why for one in found] == ([why] if why else [])
    action = "reboot" if "reboot since" in why else "certificates"
    assert {one.command for one in found} <= {f"gen workflow submit node-maintenance -p action={action}"}
