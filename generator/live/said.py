"""What people say of an object, without what its server keeps beside that."""

from generator.components.component import Manifest

_KEPT = {"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"}


def said(manifest: Manifest) -> Manifest:
    """Return an object without its status and without what the server writes to its metadata: what stands is then equal
    to what an apply would make of it, unless that changes something.
    """
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in _KEPT}
    return {**{key: value for key, value in manifest.items() if key != "status"}, "metadata": metadata}
