"""Images in a real registry: digests, sizes, locking, the mirror; and what the real kubeadm pulls."""

import hashlib
import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from reference import ROOT
from validation.clusters import CLUSTERS, variation

from generator.cli import run
from generator.components import compose
from generator.components.kubeadm.bootstrap_images import KUBE_VIP, bootstrap_images
from generator.layout.bootstrap import bootstrap
from generator.layout.files import document, kustomization, objects
from generator.layout.image_references import split
from generator.layout.mirror import shared_images
from generator.layout.upstream import Found, brings, folder
from generator.layout.upstream import files as own_files
from generator.repository.cluster_files import load
from generator.upstream.registry import ImageAnswer, ask
from tools import need_kustomize

pytestmark = pytest.mark.real

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def program(name: str) -> str:
    from apiserver import programs

    (found,) = programs(name)
    return found


class Store:
    """A running registry on loopback."""

    def __init__(self, host: str) -> None:
        self.host = host

    def push(self, repository: str, tag: str, *layers: bytes) -> str:
        """Push an image for amd64 and another for arm64 under one tag; return the digest of both together."""
        entries = []
        for architecture, contents in (("arm64", (b"arm" * 1000,)), ("amd64", layers)):
            blobs = [self.blob(repository, content) for content in contents]
            config = self.blob(repository, json.dumps({"architecture": architecture, "os": "linux"}).encode())
            body = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": blobs}
            entry = self.manifest(repository, None, MANIFEST, body)
            entries.append({**entry, "platform": {"os": "linux", "architecture": architecture}})
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}
        return str(self.manifest(repository, tag, INDEX, index)["digest"])

    def blob(self, repository: str, content: bytes) -> dict[str, Any]:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        location = self.send("POST", f"/v2/{repository}/blobs/uploads/")["Location"]
        mark = "&" if "?" in location else "?"
        self.send("PUT", f"{location}{mark}digest={digest}", content, "application/octet-stream")
        return {"mediaType": "application/octet-stream", "digest": digest, "size": len(content)}

    def manifest(self, repository: str, tag: str | None, kind: str, content: object) -> dict[str, Any]:
        body = json.dumps(content).encode()
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        self.send("PUT", f"/v2/{repository}/manifests/{tag or digest}", body, kind)
        return {"mediaType": kind, "digest": digest, "size": len(body)}

    def send(self, method: str, path: str, body: bytes = b"", kind: str = "") -> dict[str, str]:
        url = path if path.startswith("http") else f"http://{self.host}{path}"
        request = urllib.request.Request(url, body, {"Content-Type": kind} if kind else {}, method=method)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
            return dict(answer.headers)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as free:
        host = f"127.0.0.1:{free.getsockname()[1]}"
    settings = {
        "version": 0.1,
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(tmp_path / "registry")}},
        "http": {"addr": host},
    }
    (tmp_path / "registry.yml").write_text(yaml.safe_dump(settings))
    command = [program("registry"), "serve", str(tmp_path / "registry.yml")]
    with (tmp_path / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            wait(Store(host))
            yield Store(host)
        finally:
            server.terminate()


def wait(store: Store) -> None:
    for _ in range(100):
        try:
            store.send("GET", "/v2/")
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("the registry does not answer")


@pytest.fixture
def repository(tmp_path: Path, store: Store) -> Path:
    """The small reference cluster, rendered, with the registry as its mirror."""
    need_kustomize()
    root = tmp_path / "repository"
    made = root / "clusters/a30-bench"
    shutil.copytree(ROOT / "clusters/a30-bench", made, ignore=lambda *_: {"argocd", "bootstrap"})
    text = (made / "cluster.yaml").read_text()
    (made / "cluster.yaml").write_text(text.replace("  site:\n", f"  site:\n    images: {store.host}/mirror\n", 1))
    subprocess.run(["git", "init", "-q", root], check=True)
    assert run(["render", "-C", str(root)]) == 0
    return root


def listed(root: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    run(["images", "-C", str(root), "--output", "json", *arguments])
    return {image["name"]: image for image in json.loads(capsys.readouterr().out)["images"]}


def fill(store: Store, names: list[str]) -> dict[str, str]:
    return {name: store.push(f"mirror/{split(name)[0]}", split(name)[1], name.encode(), b"common") for name in names}


def test_a_real_registry_tells_digest_and_size(store: Store) -> None:
    digest = store.push("a/b", "1", b"x" * 10, b"y" * 32)
    reference = f"{store.host}/a/b"
    for mark in (":1", f"@{digest}", f":1@{digest}"):
        assert ask([reference + mark], sizes=False) == {reference + mark: ImageAnswer(digest)}
        assert ask([reference + mark], sizes=True) == {reference + mark: ImageAnswer(digest, 42)}
    missing = ask([f"{reference}:2"], sizes=True)[f"{reference}:2"]
    assert missing.error == f"{store.host} does not have it"


def test_digests_are_locked_and_pinned_and_a_moved_tag_is_told(
    repository: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    names = list(listed(repository, capsys))
    digests = fill(store, names)
    assert run(["images", "-C", str(repository), "--lock"]) == 0
    assert yaml.load((repository / "gen.lock").read_text(), yaml.CSafeLoader)["images"] == digests
    images = listed(repository, capsys, "--sizes")
    assert {image["name"]: image["digest"] for image in images.values()} == digests
    assert all(image["size"] == len(name) + len("common") for name, image in images.items())
    ours = images["registry.k8s.io/sig-storage/local-volume-node-cleanup:v2.8.0"]
    assert ours["uses"][0]["applied"] == f"{store.host}/mirror/{ours['reference']}"
    assert run(["render", "--check", "-C", str(repository)]) == 0
    before = (repository / "gen.lock").read_bytes()
    assert run(["images", "-C", str(repository), "--lock"]) == 0
    assert (repository / "gen.lock").read_bytes() == before
    name = ours["name"]
    moved = store.push(f"mirror/{split(name)[0]}", "v2.8.0", b"new")
    capsys.readouterr()
    assert run(["images", "-C", str(repository), "--lock"]) == 0
    assert f"moved: {name} was {digests[name]} and is {moved}" in capsys.readouterr().out


def test_an_image_that_no_cluster_names_is_forgotten_when_all_is_seen(
    repository: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    digests = fill(store, list(listed(repository, capsys)))
    old = "quay.io/nobody/wants:1"

    def locked(*arguments: str) -> dict[str, str]:
        text = (repository / "gen.lock").read_text().partition("images:")[0]
        entries = {**digests, old: f"sha256:{'0' * 64}"}
        (repository / "gen.lock").write_text(text + yaml.safe_dump({"images": entries}))
        git = ["git", "-C", str(repository), "-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", "x", "--allow-empty"], check=True)
        capsys.readouterr()
        assert run(["images", "-C", str(repository), "--lock", *arguments]) == 0
        found: dict[str, str] = yaml.load((repository / "gen.lock").read_text(), yaml.CSafeLoader)["images"]
        return found

    # Its charts are not vendored: they may name it.
    assert old in locked()
    assert "forgotten" not in capsys.readouterr().out
    vendored(repository)
    digests |= fill(store, list(listed(repository, capsys)))
    other = repository / "clusters/ml50"
    shutil.copytree(ROOT / "clusters/ml50", other, ignore=lambda *_: {"argocd", "bootstrap"})
    assert old in locked("--cluster", "a30-bench")
    shutil.rmtree(other)
    assert locked() == digests
    assert f"forgotten: {old}: no cluster names it any more\n" in capsys.readouterr().out


def vendored(root: Path) -> None:
    """Vendor every component as a chart that makes one pod."""
    (one,) = load(root)
    assert one.cluster
    for component in (found for found in compose(one.cluster) if brings(found)):
        spec = {"containers": [{"name": "a", "image": "quay.io/a/b:1"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": component.name, "namespace": "default"}}
        place = folder(one.name, component.name)
        made, files = objects(place, [{**pod, "spec": spec}], "x")
        files |= own_files(one.cluster, component, Found(images=shared_images([{**pod, "spec": spec}])))
        files[f"{place}/kustomization.yaml"] = document(kustomization(made), "x")
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
    assert run(["render", "-C", str(root)]) == 0


def test_an_image_that_the_mirror_lacks_is_told_and_the_others_are_locked(
    repository: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    absent, *names = list(listed(repository, capsys))
    digests = fill(store, names)
    assert run(["images", "-C", str(repository), "--lock"]) == 1
    assert f"{absent}: {store.host} does not have it" in capsys.readouterr().err
    assert yaml.load((repository / "gen.lock").read_text(), yaml.CSafeLoader)["images"] == digests


@pytest.mark.parametrize("mirror", ["", "mirror.example.org:5000/k8s/"])
def test_kube_vip_is_pinned_and_what_kubeadm_names_is_not(mirror: str) -> None:
    cluster = variation("ml50", {"site": {"images": mirror.removesuffix("/")}} if mirror else {})
    digests = dict.fromkeys((one.image for one in bootstrap_images(cluster)), f"sha256:{'a' * 64}")
    files = bootstrap(cluster, digests)
    text = files.pop("clusters/ml50/bootstrap/endpoint/kube-vip.yaml").decode()
    assert f"image: {mirror}{KUBE_VIP}@{digests[KUBE_VIP]}\n" in text
    assert files == {path: content for path, content in bootstrap(cluster).items() if path in files}


@pytest.mark.parametrize("name", CLUSTERS)
@pytest.mark.parametrize("mirror", ["", "mirror.example.org:5000/k8s"])
def test_kubeadm_pulls_what_is_listed_from_the_mirror(tmp_path: Path, name: str, mirror: str) -> None:
    cluster = variation(name, {"site": {"images": mirror}} if mirror else {})
    file = tmp_path / "init.yaml"
    file.write_bytes(bootstrap(cluster)[f"clusters/{name}/bootstrap/kubeadm/init.yaml"])
    command = [program("kubeadm"), "config", "images", "list", "--config", str(file)]
    pulled = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    prefix = f"{mirror}/" if mirror else ""
    assert pulled == {f"{prefix}{one.image}" for one in bootstrap_images(cluster) if one.image != KUBE_VIP}
    files = bootstrap(cluster)
    sandbox = files[f"clusters/{name}/bootstrap/node/all/etc/containerd/config.toml"].decode()
    assert f'sandbox_image = "{prefix}registry.k8s.io/pause:3.10.1"' in sandbox
