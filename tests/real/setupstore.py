"""A MinIO that the component's script sets up, as `setupsite` starts it."""

import subprocess
import time
import urllib.request
from pathlib import Path
from ssl import create_default_context
from typing import NamedTuple

from msgspec import structs

from generator.components.minio import minio
from generator.components.minio.metrics import USER
from generator.components.static import read_text
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.storage import Bucket, Lock, Objects, ObjectUser

ROOT = {"rootUser": "rootuser", "rootPassword": "rootpassword"}
OBJECTS = Objects(
    pool="nas",
    buckets=(
        Bucket(name="locked", lock=Lock(days=3), expire_versions=9, quota=Quantity.parse("1G")),
        Bucket(name="plain", versioning=False),
        Bucket(name="versions"),
    ),
    users=(
        ObjectUser(name="copier", buckets=("locked",), access="backup"),
        ObjectUser(name="author", buckets=("plain", "versions"), access="write"),
        ObjectUser(name="reader", buckets=("locked",), access="read"),
    ),
)


class Store(NamedTuple):
    """A running MinIO, and a folder for what one test needs."""

    endpoint: str
    ca: Path
    mc: str
    folder: Path

    def client(self, *words: str, key: str = "", text: str = "") -> subprocess.CompletedProcess[str]:
        """Run `mc` as the root user, or with the key `access:secret`."""
        key = key or ":".join(ROOT.values())
        config = self.folder / "client"
        (config / "certs" / "CAs").mkdir(parents=True, exist_ok=True)
        (config / "certs" / "CAs" / "ca.crt").write_bytes(self.ca.read_bytes())
        env = {"HOME": str(config), "MC_CONFIG_DIR": str(config), "MC_HOST_s": f"https://{key}@{self.endpoint}"}
        return subprocess.run(
            [self.mc, *words], env=env, input=text, capture_output=True, text=True, check=False, timeout=60
        )

    def setup(
        self, cluster: Cluster, objects: Objects = OBJECTS, *, keys: str = "first", **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the script with the component's settings, and keys that begin with `keys`."""
        self.write(cluster, objects, keys)
        return self.run(**env)

    def run(self, **env: str) -> subprocess.CompletedProcess[str]:
        """Run the script with the files that are there."""
        script = self.folder / "setup.sh"
        script.write_text(read_text("minio/setup.sh"))
        places = {
            "PATH": f"{Path(self.mc).parent}:/usr/bin:/bin",
            "ENDPOINT": self.endpoint,
            "SETTINGS": str(self.folder / "settings"),
            "SECRETS": str(self.folder / "secrets"),
            "MC_CONFIG_DIR": str(self.folder / "mc"),
            "WAIT": "30",
        }
        return subprocess.run(
            ["sh", str(script)], env=places | env, capture_output=True, text=True, check=False, timeout=120
        )

    def write(self, cluster: Cluster, objects: Objects, keys: str) -> None:
        component = minio(structs.replace(cluster, storage=structs.replace(cluster.storage, objects=objects)))
        (settings,) = (one for one in component.objects if one["metadata"]["name"] == "minio-setup" and "data" in one)
        files = {f"settings/{name}": text for name, text in settings["data"].items()}
        files |= {f"secrets/root/{name}": text for name, text in ROOT.items()}
        for user in (*(user.name for user in objects.users), USER):
            files |= {f"secrets/{user}/accessKey": access_key(user, keys), f"secrets/{user}/secretKey": f"secret{user}"}
        for name, text in {**files, "secrets/ca.crt": self.ca.read_text()}.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)


AUTHENTICATION = "MINIO_PROMETHEUS_AUTH_TYPE"


def rendered_environment(cluster: Cluster) -> dict[str, str]:
    (server,) = (one for one in minio(cluster).objects if one["kind"] == "StatefulSet")
    (container,) = server["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one.get("value", "") for one in container["env"]}


def access_key(user: str, keys: str = "first") -> str:
    """Longer than the table for people that `mc` prints has room for."""
    return f"{keys}{user}0123456789abcdef"


def login(user: str, keys: str = "first") -> str:
    return f"{access_key(user, keys)}:secret{user}"


def certify(folder: Path) -> None:
    key = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout private.key"
    words = f"{key} -out public.crt -days 2 -subj /CN=minio -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(words.split(), cwd=folder, check=True, capture_output=True)


def wait(url: str, ca: Path) -> None:
    trusted = create_default_context(cafile=str(ca))
    for _ in range(300):
        try:
            with urllib.request.urlopen(url, timeout=5, context=trusted) as answer:
                assert answer.status == 200
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"{url}: not within 30 s")
