"""The versions of VolSync."""

from generator.components.component import Chart
from generator.components.definition import Version, Versions

VERSIONS = Versions(
    "volsync",
    (
        Version(
            version="v0.16.0",
            proven="v0.16.0",
            charts=(Chart(name="volsync", repository="https://backube.github.io/helm-charts/", version="0.16.0"),),
            images={"mover": "quay.io/backube/volsync:0.16.0"},
            schemas=("volsync/v0.16.0",),
        ),
    ),
)
