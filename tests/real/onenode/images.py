"""Container images made of files of this machine, as archives that containerd imports."""

import hashlib
import io
import json
import re
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Files = dict[str, Path | bytes]
"""What an image holds: its files by their absolute paths."""


def image(target: Path, name: str, files: Files, **config: Any) -> Path:
    """Write an image of one layer as an OCI archive and return its path; `config` is what the image runs by default
    (`Env`, `Entrypoint`, `User`).
    """
    layer = _layer(files)
    whole = {"architecture": "amd64", "os": "linux", "config": config}
    whole["rootfs"] = {"type": "layers", "diff_ids": [_digest(layer)]}
    kind = "application/vnd.oci.image"
    parts = [(f"{kind}.config.v1+json", json.dumps(whole).encode()), (f"{kind}.layer.v1.tar", layer)]
    described = [{"mediaType": media, "digest": _digest(data), "size": len(data)} for media, data in parts]
    manifest = json.dumps({"schemaVersion": 2, "config": described[0], "layers": described[1:]}).encode()
    entry = {"mediaType": f"{kind}.manifest.v1+json", "digest": _digest(manifest), "size": len(manifest)}
    index = {"schemaVersion": 2, "manifests": [{**entry, "annotations": {"io.containerd.image.name": name}}]}
    blobs = [data for _, data in parts] + [manifest]
    entries: Files = {f"/blobs/sha256/{_digest(data).removeprefix('sha256:')}": data for data in blobs}
    entries |= {"/oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "/index.json": json.dumps(index).encode()}
    target.write_bytes(_layer(entries))
    return target


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _layer(files: Files) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in sorted(files.items()):
            data = content if isinstance(content, bytes) else content.read_bytes()
            info = tarfile.TarInfo(path.lstrip("/"))
            info.mode, info.size = 0o755, len(data)
            archive.addfile(info, io.BytesIO(data))
    return held.getvalue()


def files(paths: Iterable[Path]) -> Files:
    """Return programs of this machine where they are, with the libraries that they load."""
    found: Files = {}
    for path in paths:
        found[str(path)] = path.resolve()
        listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
        found |= {name: Path(name).resolve() for name in re.findall(r"(/\S+) \(0x", listed)}
    return found
