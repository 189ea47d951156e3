"""What a staged folder becomes: read where that is enough, else built by Kustomize."""

from pathlib import Path

from generator.build.kustomize import run_kustomize
from generator.build.plain import plain_objects
from generator.components.component import Manifest


def build_folder(command: list[str], folder: Path, place: str, component: str = "") -> list[tuple[Manifest, str]]:
    """Do as `run_kustomize`, without the program where it would change nothing."""
    found = plain_objects(folder)
    return run_kustomize(command, folder, place, component) if found is None else found
