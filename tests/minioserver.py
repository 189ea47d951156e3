"""A real MinIO on loopback, with a certificate or without."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

ROOT_USER, ROOT_PASSWORD = "administrator", "only-for-this-test"


def program(name: str) -> str:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folders = [str(cache / "gen/bin"), os.environ["PATH"]]
    found = shutil.which(name, path=os.pathsep.join(folders))
    if not found:
        pytest.skip(f"{name} is not here")
    return found


class Server:
    """One single-drive MinIO on loopback."""

    def __init__(self, folder: Path, *, certificates: Path | None = None) -> None:
        self.folder, self.certificates = folder, certificates
        with socket.socket() as free, socket.socket() as console:
            free.bind(("127.0.0.1", 0))
            console.bind(("127.0.0.1", 0))
            self.address, self.console = (f"127.0.0.1:{s.getsockname()[1]}" for s in (free, console))
        self.url = f"http{'s' if certificates else ''}://{self.address}"
        self.start()

    def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        command = [program("minio"), "server", str(self.folder), "--address", self.address]
        command += ["--console-address", self.console]
        command += ["--certs-dir", str(self.certificates)] if self.certificates else []
        self.process = subprocess.Popen(
            command,
            env={
                **os.environ,
                "MINIO_CI_CD": "1",  # the drive is on the root disk
                "_MINIO_SERVER_LOCAL": self.address,  # else it waits for another address where it sees a container
                "MINIO_ROOT_USER": ROOT_USER,
                "MINIO_ROOT_PASSWORD": ROOT_PASSWORD,
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def certificates(folder: Path) -> Path:
    """A CA and a server certificate for 127.0.0.1, as MinIO and mc want them on disk."""
    (folder / "CAs").mkdir(parents=True)
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    ca = ["-subj", "/CN=test-ca", "-keyout", "ca.key", "-out", "CAs/ca.crt"]
    leaf = ["-subj", "/CN=minio", "-keyout", "private.key", "-out", "public.crt"]
    signed = ["-CA", "CAs/ca.crt", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1"]
    signed += ["-addext", "basicConstraints=critical,CA:FALSE"]
    for more in (ca, leaf + signed):
        subprocess.run([program("openssl"), "req", "-x509", *curve, *more], cwd=folder, check=True, capture_output=True)
    return folder
