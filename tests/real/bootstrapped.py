"""A cluster of bare nodes, and the repository that is to bring it to where Argo CD syncs it: all of it vendored, from
charts and manifests in the cache.
"""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import chartshop
import yaml
from apiserver import ApiServer, programs
from argocd.gitserver import serving
from argocd.repository import INSTALLS
from pyrage import decrypt, x25519
from reference import ROOT
from twin.nodes import nodes
from twin.plane import Plane, plane
from twin.rendered import CHARTS

from generator.components import CATALOGUE
from generator.components.component import Chart
from generator.components.definition import Version
from generator.model.cluster import Cluster
from generator.rehearsal.twin.plane import ADMIN
from generator.spec.decode import decode
from generator.spec.reader import read

Object = dict[str, Any]
SMALL = Path(__file__).parent / "argocd" / "cluster.yaml"
LOGIN = {"GEN_REPOSITORY_USERNAME": "ann", "GEN_REPOSITORY_PASSWORD": "a word of ann's"}
# gen, killed when it has said what the first word is: from outside, it would have gone on before the end came.
DYING = """
import os, signal, sys
import click
from generator.cli import run

said, echo = sys.argv[1], click.echo

def echo_and_die(message=None, **more):
    echo(message, **more)
    if said in str(message):
        os.kill(os.getpid(), signal.SIGKILL)

click.echo = echo_and_die
sys.exit(run(sys.argv[2:]))
"""


Prepare: TypeAlias = Callable[["Bare"], None]


class Bare:
    """A cluster as kubeadm leaves it, a repository in Git with a remote, and a person who runs `gen` there."""

    def __init__(self, folder: Path, port: int, shop: chartshop.Shop, prepare: Prepare, spec: Object) -> None:
        self.folder, self.tree, self.bare = folder, folder / "tree", folder / "git" / "clusters.git"
        self.name = spec["metadata"]["name"]
        self.file = self.tree / "clusters" / self.name / "cluster.yaml"
        self.file.parent.mkdir(parents=True)
        spec["spec"]["repository"]["url"] = f"http://127.0.0.1:{port}/clusters.git"
        self.escrow, self.identity = folder / "escrow.age", x25519.Identity.generate()
        spec["spec"]["site"] |= {
            "manifests": f"{shop.url}/m",
            "charts": shop.url,
            "escrow": {"recipients": [str(self.identity.to_public())]},
        }
        self.given("cert-manager/site-ca/tls.crt", "a certificate\nin two lines\n")
        self.given("cert-manager/site-ca/tls.key", "its key")
        self.file.write_text(yaml.safe_dump(spec, sort_keys=False))
        self.git("init", "--quiet", "--bare", "--initial-branch=main", str(self.bare))
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("remote", "add", "origin", str(self.bare))
        for words in (["render"], ["vendor"]):
            done = self.gen(*words)
            assert done.returncode == 0, done.stdout + done.stderr
        prepare(self)
        self.publish()

    api: Plane

    @property
    def components(self) -> list[str]:
        """The names of what is installed."""
        return sorted(folder.name for folder in (self.tree / "overlays" / self.name).iterdir())

    def cluster(self) -> Cluster:
        """Return what its file says."""
        found = decode(read(self.file.read_bytes(), f"clusters/{self.name}/cluster.yaml"))
        assert isinstance(found, Cluster)
        return found

    def given(self, place: str, value: str) -> None:
        """Put a value of a Secret where it is read from."""
        file = self.folder / "given" / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value)

    def copies(self) -> list[Object]:
        """Return the Secrets that the escrow file holds."""
        blocks = re.findall(r"-----BEGIN AGE.*?END AGE ENCRYPTED FILE-----\n", self.escrow.read_text(), re.DOTALL)
        return [json.loads(decrypt(block.encode(), [self.identity])) for block in blocks]

    def git(self, *words: str) -> str:
        """Run Git in the working tree."""
        author = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
        done = subprocess.run(["git", *author, *words], cwd=self.tree, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def publish(self) -> None:
        """Commit and push all there is."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=all")
        self.git("push", "--quiet", "origin", "main")

    def command(self, *words: str) -> list[str]:
        """Return how a verb is started."""
        return [sys.executable, "-P", "-m", "generator", *words]

    def env(self, **more: str) -> dict[str, str]:
        """Return the environment of the person, without any cluster that the machine may know."""
        own = {key: value for key, value in os.environ.items() if not key.startswith(("KUBE", "GEN_REPOSITORY"))}
        (helm, kustomize) = programs("helm", "kustomize")
        return {**own, "PYTHONPATH": str(ROOT), "GEN_HELM": helm, "GEN_KUSTOMIZE": kustomize, **more}

    def gen(self, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
        """Run a verb."""
        return subprocess.run(
            self.command(*words), cwd=self.tree, env=self.env(**env), capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    @property
    def kubeconfig(self) -> str:
        """The administrator's."""
        return str(self.api.address.kubeconfig(ADMIN))

    def address(self, api: ApiServer, certificate: Path, key: Path) -> str:
        """Return a kubeconfig that leads to another API server, with a client's certificate."""
        file = Path(self.kubeconfig).with_name("other.kubeconfig")
        content = json.loads(Path(self.kubeconfig).read_text())
        content["clusters"][0]["cluster"] = {"server": api.url, "certificate-authority": str(api.certificate)}
        content["users"][0]["user"] = {"client-certificate": str(certificate), "client-key": str(key)}
        file.write_text(json.dumps(content))
        return str(file)

    def words(self, *words: str, kubeconfig: str = "") -> list[str]:
        """Return what follows `gen`."""
        keeping = ["--secrets-dir", str(self.folder / "given"), "--escrow", str(self.escrow)]
        return ["bootstrap", "--kubeconfig", kubeconfig or self.kubeconfig, *keeping, *words]

    def bootstrap(self, *words: str, kubeconfig: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
        """Run `gen bootstrap`, with the login that Argo CD needs for Git."""
        return self.gen(*self.words(*words, kubeconfig=kubeconfig), **{**LOGIN, **env})

    def started(self, *words: str) -> "subprocess.Popen[str]":
        """Start `gen bootstrap` beside the test."""
        argv, out = self.command(*self.words(*words)), subprocess.PIPE
        return subprocess.Popen(argv, cwd=self.tree, env=self.env(**LOGIN), stdout=out, stderr=out, text=True)

    def killed(self, at: str, *words: str) -> bool:
        """Run `gen bootstrap --apply` and kill it when it has said something; tell whether it ever did."""
        argv = [sys.executable, "-P", "-c", DYING, at, *self.words("--apply", "--no-wait", *words)]
        done = subprocess.run(argv, cwd=self.tree, env=self.env(**LOGIN), capture_output=True, check=False)
        return done.returncode == -signal.SIGKILL


def small() -> Object:
    """Return the small cluster's file, with a site's own CA."""
    spec: Object = yaml.load(SMALL.read_bytes(), yaml.CSafeLoader)
    spec["spec"]["site"]["issuer"] = {"kind": "ca", "secret": "site-ca"}
    return spec


def shop() -> chartshop.Shop:
    """Return a shop with what the cache has."""
    made = chartshop.Shop()
    (argocd,) = programs("argocd")
    for address in default("argo-cd").manifests:
        file = next(name for end, name in INSTALLS.items() if address.endswith(end))
        made.files[f"/m/{address.removeprefix('https://')}"] = Path(argocd).resolve().with_name(file).read_bytes()
    for component, program in CHARTS.items():
        (path,) = programs(program)
        for chart in default(component).charts:
            made.put(chart.name, chart.version, packed(Path(path).resolve().parent / "chart", chart))
    return made


def default(component: str) -> Version:
    versions = CATALOGUE[component].versions
    assert versions
    return versions.known[0]


def packed(folder: Path, chart: Chart) -> bytes:
    """Return a chart's archive, of the version that is asked for: the cache may have a neighbour of it."""
    about = yaml.load((folder / "Chart.yaml").read_bytes(), yaml.CSafeLoader) | {"version": chart.version}
    out, own = io.BytesIO(), f"{chart.name}/Chart.yaml"
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        archive.add(folder, arcname=chart.name, filter=lambda one: None if one.name == own else one)
        content = yaml.safe_dump(about).encode()
        member = tarfile.TarInfo(own)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


@contextlib.contextmanager
def bare(
    prepare: Prepare = lambda _: None,
    without: tuple[str, ...] = (),
    spec: Object | None = None,
    sold: chartshop.Shop | None = None,
) -> Iterator[Bare]:
    """Have a cluster that `kubeadm` just made, of a cluster file `spec`, the small one if none is given. `prepare` puts
    into its repository what is a user's own, and components `without` which it does are installed by somebody else.
    Charts and manifests come from `sold`.
    """
    spec = spec or small()
    spec["spec"]["components"] |= {name: {"managed": False} for name in without}
    with tempfile.TemporaryDirectory(prefix="bare-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        (folder / "git").mkdir()
        port = stack.enter_context(serving(folder / "git"))
        sold = sold or shop()
        with chartshop.serving(sold):
            made = Bare(folder, port, sold, prepare, spec)
        made.api = stack.enter_context(plane(folder))
        for one in nodes(made.tree, made.name):
            assert made.api.create(one, dry=False) == (201, "")
        yield made
