"""The annotation by which Argo CD knows its objects. No file has it: what is applied under its name would lose it."""

from generator.components.common import TRACKING
from generator.components.component import Manifest
from generator.model.fields import dig, mapping


def tracked(manifest: Manifest, live: Manifest | None) -> Manifest:
    """Return an object with the annotation that Argo CD gave to what stands (`live`), where it has one."""
    given = dig(live or {}, "metadata", "annotations", TRACKING)
    if not given:
        return manifest
    metadata = manifest["metadata"]
    annotations = {**mapping(metadata.get("annotations")), TRACKING: given}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}
