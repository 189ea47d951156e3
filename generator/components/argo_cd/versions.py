"""The versions of argo-cd that gen knows."""

from generator.components.definition import Version, Versions

VERSIONS = Versions(
    "argo-cd",
    (
        Version(
            version="v3.5.8",
            manifests=(
                "https://raw.githubusercontent.com/argoproj/argo-cd/v3.5.8/manifests/install.yaml",
                "https://raw.githubusercontent.com/argoproj/argo-cd/v3.5.8/manifests/ha/install.yaml",
            ),
            schemas=("argo-cd/v3.5.3",),
            proven="v3.5.3",
            kubernetes=(33, 36),
        ),
    ),
)
