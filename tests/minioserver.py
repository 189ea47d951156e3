"""A real MinIO on loopback, with a certificate or without, and requests to it that no client makes."""

import base64
import hashlib
import hmac
import io
import os
import ssl
import subprocess
import tarfile
import time
from contextlib import closing
from http.client import HTTPSConnection
from pathlib import Path
from urllib.parse import urlencode

from ports import free_port

from tools import program

ROOT_USER, ROOT_PASSWORD = "administrator", "only-for-this-test"


class Server:
    """One single-drive MinIO on loopback."""

    def __init__(self, folder: Path, *, certificates: Path | None = None, encrypts: bool = False) -> None:
        self.folder, self.certificates = folder, certificates
        key = f"minio-kms:{base64.b64encode(bytes(32)).decode()}"
        self.more = {"MINIO_KMS_SECRET_KEY": key, "MINIO_KMS_AUTO_ENCRYPTION": "on"} if encrypts else {}
        self.address, self.console = (f"127.0.0.1:{free_port()}" for _ in range(2))
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
                **self.more,
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


def certificates(folder: Path, names: str = "IP:127.0.0.1") -> Path:
    """A CA and a server certificate for names in the words of openssl, as MinIO and mc want them on disk."""
    (folder / "CAs").mkdir(parents=True)
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    ca = ["-subj", "/CN=test-ca", "-keyout", "ca.key", "-out", "CAs/ca.crt"]
    leaf = ["-subj", "/CN=minio", "-keyout", "private.key", "-out", "public.crt"]
    signed = ["-CA", "CAs/ca.crt", "-CAkey", "ca.key", "-addext", f"subjectAltName={names}"]
    signed += ["-addext", "basicConstraints=critical,CA:FALSE"]
    for more in (ca, leaf + signed):
        subprocess.run([program("openssl"), "req", "-x509", *curve, *more], cwd=folder, check=True, capture_output=True)
    return folder


def asked(  # noqa: PLR0913  # what a request is made of
    place: tuple[str, Path],
    login: str,
    method: str,
    path: str,
    *,
    query: dict[str, str] | None = None,
    body: bytes = b"forged",
    headers: dict[str, str] | None = None,
) -> int:
    """Send a signed request to MinIO at an address with a CA, with the key `access:secret`, and return the status."""
    address, ca = place
    access, secret = login.split(":")
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    said = {"host": address, "x-amz-content-sha256": hashlib.sha256(body).hexdigest(), "x-amz-date": now}
    said |= headers or {}
    words, names = urlencode(query or {}), ";".join(sorted(said))
    lines = [method, path, words, *(f"{name}:{said[name]}" for name in sorted(said)), "", names]
    request = "\n".join([*lines, said["x-amz-content-sha256"]])
    scope = f"{now[:8]}/us-east-1/s3/aws4_request"
    key = b"AWS4" + secret.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    signature = hmac.new(key, text.encode(), "sha256").hexdigest()
    told = f"AWS4-HMAC-SHA256 Credential={access}/{scope}, SignedHeaders={names}, Signature={signature}"
    trust = ssl.create_default_context(cafile=str(ca))
    with closing(HTTPSConnection(address, timeout=30, context=trust)) as connection:
        connection.request(method, f"{path}?{words}" if words else path, body, {**said, "authorization": told})
        answer = connection.getresponse()
        answer.read()
        return answer.status


def archive_over(name: str, version: str) -> bytes:
    """Return an archive that MinIO unpacks, with an object that says which version it is."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo(name)
        member.size, member.pax_headers = len(b"forged"), {"minio.versionId": version}
        archive.addfile(member, io.BytesIO(b"forged"))
    return made.getvalue()
