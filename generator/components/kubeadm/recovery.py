"""The way back of a lost site: a page for this very cluster, in the order in which its parts need each other."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from generator.components.argo_cd import NAMESPACE as ARGO_CD
from generator.components.argo_workflows import NAMESPACE as WORKFLOWS
from generator.components.ceph_cluster import VERSIONS as CEPH
from generator.components.kubeadm import recovery_words as words
from generator.components.kubeadm.recovery_data import first_backups, lines, runs
from generator.components.minio.layout import layout_of
from generator.components.node_text import Escaped, NodeSet, Place, Template, Text, Word, joined, static, template
from generator.components.rook_ceph import NAMESPACE as ROOK_NAMESPACE
from generator.components.rook_ceph import VERSIONS as ROOK
from generator.components.workflows.targets import elsewhere
from generator.model.cluster import Cluster
from generator.model.node_sets import node_set
from generator.model.nodes import Machine
from generator.model.storage import Ceph

Step: TypeAlias = tuple[str, Text]
"""The letters of the cases that it belongs to, and its words."""
OF_ROOK = (ROOK_NAMESPACE, "deployment rook-ceph-operator")


def recovery_files(cluster: Cluster) -> dict[Place, Text]:
    """Return the page, and beside it what makes a monitor of Ceph's disks where the cluster has such disks in plain."""
    script = {Place("recovery", "monitors.sh"): static("kubeadm/recovery/monitors.sh")} if _plain(cluster) else {}
    found = [*_steps(cluster)]
    steps = (Text(words.STEP, number=Word(number), text=text) for number, (_, text) in enumerate(found, start=1))
    head = _head(cluster, [letters for letters, _ in found])
    return {Place("recovery", "README.md"): joined((head, *steps)), **script}


def _plain(cluster: Cluster) -> bool:
    """Tell whether Ceph's disks can be read without what the monitors alone know."""
    return bool(cluster.storage.ceph and not cluster.storage.ceph.encryption.rest)


def _steps(cluster: Cluster) -> Iterator[Step]:
    """Yield the steps; those of the control plane and its etcd only where there are snapshots."""
    ceph, snapshots = cluster.storage.ceph, cluster.kubernetes.etcd.backup
    yield "", _kept(cluster)
    workers = _addresses(_storage_first(cluster))
    if snapshots:
        acting = joined((Word(what.split()[1]) for _, what in _acting(cluster)), " ")
        yield _step(
            cluster, "AB", "stop", workers=workers, endpoint=Word(cluster.kubernetes.endpoint.address), acting=acting
        )
    if ceph:
        yield _monitors(cluster, ceph)
    if snapshots:
        yield from _with_snapshot(cluster)
    yield _anew(cluster)
    if snapshots:
        first = Text(words.FIRST) if ceph or cluster.storage.objects else joined(())
        yield _step(cluster, "AB", "workers", workers=workers, first=first, count=_count(cluster))
    if ceph:
        yield _ceph(cluster, ceph)
    if cluster.storage.objects:
        yield _minio(cluster)
    if snapshots:
        release = joined(_scaled(of, 1) for of in reversed([*_acting(cluster)]) if of != OF_ROOK)
        yield _step(cluster, "AB", "argo-cd", cluster=Word(cluster.name), release=release)
    yield _gone(cluster)
    yield _step(cluster, "ABCD", "data", cluster=Word(cluster.name), lines=lines(cluster))
    yield _last(cluster)


def _step(cluster: Cluster, letters: str, name: str, /, **values: Escaped | Text) -> Step:
    """Return a step that belongs to these cases, of those that the cluster has."""
    letters = "".join(letter for letter in letters if letter in _cases(cluster))
    told = Text(words.LETTERS, letters=joined(map(Word, letters), ", "))
    return letters, _prose(name, letters=told, **values)


def _cases(cluster: Cluster) -> str:
    return "ABCD" if cluster.kubernetes.etcd.backup else "CD"


def _prose(name: str, **values: Escaped | Text) -> Text:
    return Text(template(f"kubeadm/recovery/{name}.md"), **values)


def _names(machines: Iterable[Machine]) -> NodeSet:
    return NodeSet(node_set(machine.name for machine in machines))


def _addresses(machines: Iterable[Machine]) -> Text:
    return joined((Word(machine.address) for machine in machines), " ")


def _count(cluster: Cluster) -> Word:
    return Word(len(cluster.machines))


def _storage_first(cluster: Cluster) -> list[Machine]:
    """Return the workers, those with disks of Ceph or MinIO before those that use them."""
    workers = [one for one in cluster.machines if one.role != "control-plane"]
    return sorted(workers, key=lambda one: not (one.disks_for("ceph") or one.disks_for("objects")))


def _disks(cluster: Cluster) -> Text:
    holders = [one for one in cluster.machines if one.disks_for("ceph") or one.disks_for("objects")]
    return Text(words.DISKS, hosts=_names(holders)) if holders else Text(words.NO_DISKS)


def _head(cluster: Cluster, letters: Sequence[str]) -> Text:
    ceph, disks = cluster.storage.ceph, _disks(cluster)
    known: dict[str, dict[str, Escaped | Text]] = {
        "A": {"control": _names(cluster.control_plane)},
        "B": {"disks": disks},
        "C": {"disks": disks},
        "D": {},
    }
    return _prose(
        "head",
        cluster=Word(cluster.name),
        cases=joined(Text(words.CASES[one], steps=_numbers(one, letters), **known[one]) for one in _cases(cluster)),
        wipe=Text(words.WIPE, hosts=_names(cluster.monitor_hosts)) if ceph else joined(()),
        hand=Text(words.HAND[bool(cluster.site.escrow.recipients)]),
    )


def _numbers(case: str, letters: Sequence[str]) -> Text:
    return joined((Word(number) for number, one in enumerate(letters, start=1) if case in one), ", ")


def _kept(cluster: Cluster) -> Text:
    ceph, backup = cluster.storage.ceph, cluster.kubernetes.etcd.backup
    return _prose(
        "kept",
        cluster=Word(cluster.name),
        nobody=joined(()) if cluster.site.escrow.recipients else Text(words.NOBODY),
        snapshots=Text(words.SNAPSHOTS, place=_place(cluster)) if backup else Text(words.NO_SNAPSHOTS),
        disks=_disk_keys(cluster) if ceph and not _plain(cluster) else joined(()),
        rotated=Text(words.ROTATED) if ceph else joined(()),
        names=Text(words.NAMES) if ceph else joined(()),
    )


def _disk_keys(cluster: Cluster) -> Text:
    keys = cluster.site.escrow.recipients or ("PUBLIC-KEY",)
    recipients = joined(Text(words.RECIPIENT, key=Word(one)) for one in keys)
    return _prose("disk-keys", recipients=recipients, osds=_osds(cluster))


def _place(cluster: Cluster) -> Text:
    """Return where snapshots of etcd are, beside the control-plane nodes."""
    backup = cluster.kubernetes.etcd.backup
    assert backup
    place = elsewhere(cluster, backup)
    where = Text(Template("{url}"), url=Word(place.address)) if place else Text(Template("the MinIO of this cluster"))
    in_folder, in_bucket = Template("the folder {bucket} of {where}"), Template("the bucket {bucket} of {where}")
    what = in_folder if place and place.nfs else in_bucket
    return Text(what, bucket=Word(backup.target.bucket), where=where)


def _monitors(cluster: Cluster, ceph: Ceph) -> Step:
    return _step(
        cluster,
        "BC",
        "monitors",
        hosts=_names(cluster.monitor_hosts),
        monitors=_addresses(cluster.monitor_hosts),
        count=Word(ceph.monitors),
        majority=_majority(ceph),
        none=Text(words.NO_MONITOR if _plain(cluster) else words.NO_MONITOR_ENCRYPTED),
    )


def _majority(ceph: Ceph) -> Word:
    return Word(ceph.monitors // 2 + 1)


def _with_snapshot(cluster: Cluster) -> Iterator[Step]:
    backup, nodes = cluster.kubernetes.etcd.backup, cluster.control_plane
    assert backup
    plain = cluster.kubernetes.encryption == "none"
    inside = elsewhere(cluster, backup) is None and cluster.storage.objects
    keys = Word(4 if plain else 5)
    yield _step(
        cluster, "AB", "snapshot", place=_place(cluster), circle=Text(words.CIRCLE) if inside else joined(()), keys=keys
    )
    yield _step(
        cluster,
        "AB",
        "control",
        nodes=_names(nodes),
        control=_addresses(nodes),
        keep=_keep(cluster),
        enc=joined(()) if plain else Text(Template(" enc")),
        enc_file=joined(()) if plain else Text(Template(" /etc/kubernetes/enc/encryption.yaml")),
    )
    yield _step(cluster, "AB", "init", nodes=_names(nodes), first=Word(nodes[0].name))
    yield _step(
        cluster,
        "AB",
        "etcd",
        nodes=_names(nodes),
        hold=joined(_scaled(of, 0) for of in _acting(cluster)),
        count=_count(cluster),
    )


def _acting(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield what acts by itself: its namespace, and its workload, whose container has the same name."""
    yield ARGO_CD, "statefulset argocd-application-controller"
    if cluster.all_backups:
        yield WORKFLOWS, "deployment workflow-controller"
    if cluster.storage.ceph:
        yield OF_ROOK


def _scaled(acting: tuple[str, str], count: int) -> Text:
    namespace, what = acting
    return Text(words.SCALE, namespace=Word(namespace), what=joined(map(Word, what.split()), " "), count=Word(count))


def _anew(cluster: Cluster) -> Step:
    ceph = cluster.storage.ceph
    adopt = (
        _prose("adopt", monitor=Word(cluster.monitor_hosts[0].address), rook=_rook(cluster))
        if ceph
        else Text(Template(".\n"))
    )
    return _step(
        cluster,
        "C",
        "anew",
        cluster=Word(cluster.name),
        every=_addresses(cluster.machines),
        keep=_keep(cluster),
        adopt=adopt,
        claims=Text(words.CLAIMS) if ceph else joined(()),
    )


def _keep(cluster: Cluster) -> Text:
    return Text(words.KEEP, data=Word(cluster.kubernetes.etcd.data_dir))


def _rook(cluster: Cluster) -> Word:
    """Return the minor of Rook, as its documentation is found by."""
    return Word(".".join(ROOK.of(cluster).version.removeprefix("v").split(".")[:2]))


def _ceph(cluster: Cluster, ceph: Ceph) -> Step:
    image = Word(CEPH.of(cluster).images["ceph"])
    return _step(
        cluster,
        "ABC",
        "ceph",
        count=Word(ceph.monitors),
        majority=_majority(ceph),
        osds=_osds(cluster),
        rook=_rook(cluster),
        held=Text(words.HELD) if cluster.kubernetes.etcd.backup else joined(()),
        none=_prose("rebuild", image=image) if _plain(cluster) else Text(words.KEYS_LOST),
    )


def _osds(cluster: Cluster) -> Word:
    return Word(sum(one.drive_count("ceph") for one in cluster.ceph_hosts))


def _minio(cluster: Cluster) -> Step:
    pools = layout_of(cluster)
    machines = [machine for pool in pools for machine in pool.machines]
    backup = cluster.kubernetes.etcd.backup
    return _step(
        cluster,
        "ABC",
        "minio",
        nodes=_names(machines),
        drives=Word(sum(len(pool.machines) * pool.drives for pool in pools)),
        servers=Word(len(machines)),
        again=Text(words.AGAIN) if backup and elsewhere(cluster, backup) is None else joined(()),
    )


def _gone(cluster: Cluster) -> Step:
    outside = sorted(one.name for one in cluster.all_backups if elsewhere(cluster, one))
    names = joined(map(Word, outside), ", ")
    said = Text(words.OUTSIDE, names=names) if outside else Text(words.NO_OUTSIDE, cluster=Word(cluster.name))
    but = words.LOOP_BUT if cluster.storage.ceph else Template("")
    return _step(cluster, "D", "gone", cluster=Word(cluster.name), elsewhere=said, but=Text(but))


def _last(cluster: Cluster) -> Step:
    held = Text(words.PLAIN, nodes=_names(cluster.control_plane)) if cluster.kubernetes.etcd.backup else joined(())
    rook = Text(words.ROOK_BEFORE) if cluster.storage.ceph else joined(())
    told = {"first": first_backups(cluster), "commands": runs(cluster), "plain": held, "rook": rook}
    return _step(cluster, "ABCD", "last", cluster=Word(cluster.name), **told)
