"""A backup of a team's volume."""

from msgspec import structs

from generator.model.backup import CopyTarget, VolumeBackup, VolumeSource
from generator.model.quantity import Quantity

HOME = VolumeBackup(
    name="vision-home",
    source=VolumeSource(team="vision", claim="home", storage_class="rbd-nvme"),
    target=CopyTarget(bucket="volumes"),
    schedule="0 21 * * *",
    size=Quantity.parse("2Ti"),
    daily_change=Quantity.parse("50Gi"),
    user=1000,
)
NIGHTLY = structs.replace(HOME, schedule="0 0 * * *")
"""The same at midnight."""
