"""The versions of minio that gen knows."""

from generator.components.definition import Version, Versions

VERSIONS = Versions(
    "minio",
    (
        Version(
            version="RELEASE.2026-09-16T00-00-00Z",
            images={
                "server": "docker.io/pgsty/silo:RELEASE.2026-09-16T00-00-00Z"
                "@sha256:635197cb9f36d01bee221d34d1c7d7960f6a95c48b0b6c01d99cd13bdae51a46",
                "client": "docker.io/pgsty/mc:RELEASE.2026-09-16T00-00-00Z"
                "@sha256:cfc83108c3abb371f8fb84d99c1fdc88f8c237e022409b0081fb7c0a3be634dd",
            },
        ),
    ),
)
