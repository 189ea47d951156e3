"""Rules about programs that start others in several pods: MPI, torchrun."""

import re
from collections.abc import Iterator
from typing import Any

from generator.build.kinds import CRD
from generator.build.objects import Built, Object
from generator.build.pods import GROUPS, Pod, containers, pods
from generator.components.jobs import MPI_OPERATORS
from generator.model.fields import amount, dig, sequence
from generator.model.finding import Finding, Path
from generator.model.gpus import GPU
from generator.model.rule import rule, warning

MPI = re.compile(r"(?:^|[\s;&|(/])(mpirun|mpiexec|horovodrun)\s([^;&|\n]*)")
TORCH = re.compile(r"(?:^|[\s;&|(/])(torchrun|torch\.distributed\.(?:run|launch))\s([^;&|\n]*)")
HOSTS = re.compile(r"(?:^|\s)--?(?:H|hosts?|hostfile|machinefile)(?:\s+|=)(\S+)")
PROCESSES = re.compile(r"(?:^|\s)--?(?:n|np)(?:\s+|=)(\d{1,6})(?=\s|$)")
PLACES = re.compile(r"(?:^|\s)--nnodes(?:\s+|=)(?:\d{1,6}:)?(\d{1,6})(?=\s|$)")
MEETING = re.compile(r"--(?:rdzv[-_]endpoint|master[-_]addr|standalone)\b")
COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
SSH = re.compile(r"ssh|rsh_agent|hydra_launcher|kubectl", re.IGNORECASE)
"""What a pod has that brings keys for ssh, or something in its place."""
HERE = {"localhost", "127.0.0.1"}


@warning("GEN-JOB-001", "MPI reaches the hosts that it names")
def reaches(built: Built) -> Iterator[Finding]:
    """Processes on other hosts are started by mpirun and horovodrun through ssh. An MPIJob brings the names of the
    hosts, keys and servers; a plain Job has none of these, and starts all processes in its own pod, or waits for hosts
    that never answer. What mounts keys, or names another agent, is left alone.

    Wrong:
        kind: Job
        spec: {template: {spec: {containers: [{command: [mpirun, -np, "16", -H, "a:8,b:8", python, train.py]}]}}}
    Right:
        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
    """
    for pod in plain_pods(built):
        for at, container in containers(pod):
            for name, options in launched(MPI, container):
                message = unreached(name, options, container)
                if message and not SSH.search(all_texts(pod)):
                    fix = "make an MPIJob, or start no more than the pod has GPUs"
                    yield pod.finding(message, *at, *spoken(name, container), fix=fix)


def unreached(name: str, options: str, container: dict[str, Any]) -> str:
    """Say what of a launcher is not to be had in a pod alone, empty where nothing is missing."""
    hosts = HOSTS.search(options)
    if hosts:
        named = {each.partition(":")[0] for each in hosts[1].strip("\"'").split(",")}
        return "" if named <= HERE else f"{name} starts processes on {hosts[1]} through ssh, and nothing here brings it"
    gpus = (amount(dig(container, "resources", "limits", GPU)) or 0) // 1000
    count = PROCESSES.search(options)
    if count and 0 < gpus < int(count[1]):
        return f"{name} starts {count[1]} processes in this pod alone, which has {gpus} {GPU}: it names no other hosts"
    return ""


@warning("GEN-JOB-002", "torchrun knows where its nodes meet")
def meets(built: Built) -> Iterator[Finding]:
    """Until as many nodes are there as `--nnodes` says, torchrun waits, at `127.0.0.1` unless it is told another place:
    each pod of a plain Job then waits for itself. PyTorchJob and TrainJob tell it by variables.

    Wrong:
        command: [torchrun, --nnodes=2, train.py]
    Right:
        command: [torchrun, --nnodes=2, --rdzv-backend=c10d, --rdzv-endpoint=train-0.train, train.py]
    """
    for pod in plain_pods(built):
        for at, container in containers(pod):
            told = {str(dig(each, "name")) for each in sequence(container.get("env"))}
            if told & {"PET_MASTER_ADDR", "PET_RDZV_ENDPOINT", "PET_STANDALONE"} or container.get("envFrom"):
                continue
            for name, options in launched(TORCH, container):
                count = PLACES.search(options)
                if count and int(count[1]) > 1 and not MEETING.search(options):
                    message = f"{name} waits for {count[1]} nodes, and each pod waits at its own 127.0.0.1"
                    fix = "add --rdzv-backend=c10d and --rdzv-endpoint=HOST, or make a TrainJob or PyTorchJob"
                    yield pod.finding(message, *at, *spoken(name, container), fix=fix)


@rule("GEN-JOB-003", "one operator has a kind of jobs")
def one_owner(built: Built) -> Iterator[Finding]:
    """training-operator and mpi-operator each bring a CRD `mpijobs.kubeflow.org`, of which one serves only `v1` and the
    other only `v2beta1`. A cluster has one of them: the jobs of the other are refused, and where both are applied each
    takes the other's version away.

    Wrong:
        (an MPIJob or a CRD of kubeflow.org/v1, and one of kubeflow.org/v2beta1)
    Right:
        (both of kubeflow.org/v2beta1)
    """
    found = [*versions_of_mpi_jobs(built)]
    *others, newest = MPI_OPERATORS
    other = next((one for one, _, version in found if version == newest), None)
    for one, at, version in found:
        if other and version in others:
            message = f"is {MPI_OPERATORS[version]}'s, and {other.full_name} {MPI_OPERATORS[newest]}'s"
            fix = f"write it in {newest}" if one.kind == "MPIJob" else f"leave it out, and write MPIJobs in {newest}"
            yield one.finding(f"{message}: a cluster has only one of the two", *at, fix=fix)


def versions_of_mpi_jobs(built: Built) -> Iterator[tuple[Object, Path, str]]:
    """Yield MPIJobs and definitions of them, with the place of the version that each has."""
    for one in built.of("MPIJob"):
        yield one, ("apiVersion",), one.version
    for one in built.of(CRD):
        if one.name == "mpijobs.kubeflow.org":
            for index, version in enumerate(sequence(dig(one.manifest, "spec", "versions"))):
                yield one, ("spec", "versions", index, "name"), f"kubeflow.org/{dig(version, 'name')}"


def plain_pods(built: Built) -> Iterator[Pod]:
    """Yield the pods of Kubernetes' own kinds: no operator tells these of one another."""
    return (pod for pod in pods(built) if pod.maker.version in GROUPS)


def launched(launcher: re.Pattern[str], container: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the launchers that a container starts, with their options and all behind them."""
    words = [COMMENT.sub("", str(each)) for key in ("command", "args") for each in sequence(container.get(key))]
    text = " ".join(words).replace("\\\n", " ")
    return ((found[1], found[2]) for found in launcher.finditer(text[:100_000]))


def spoken(name: str, container: dict[str, Any]) -> Path:
    """Return the way to the word with which a container starts a launcher."""
    for key in ("command", "args"):
        for index, word in enumerate(sequence(container.get(key))):
            if name in str(word):
                return key, index
    return ("command",)


def all_texts(pod: Pod) -> str:
    """Return what the containers of a pod mount, set and start, in one text."""
    found: list[object] = []
    for _, container in containers(pod):
        found += [dig(each, "mountPath") for each in sequence(container.get("volumeMounts"))]
        found += [dig(each, "name") for each in sequence(container.get("env"))]
        found += [*sequence(container.get("command")), *sequence(container.get("args"))]
    return " ".join(map(str, found))
