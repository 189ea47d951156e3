"""What the real kubeadm says to its files in the bootstrap folder."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from validation.build import Loader
from validation.clusters import CLUSTERS, variation

from generator.components.kubeadm.init import DISCOVERY_FILE, PATCHES
from generator.layout.bootstrap import bootstrap

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def kubeadm() -> str:
    from apiserver import programs

    (found,) = programs("kubeadm")
    return found


def said(kubeadm: str, folder: Path, text: str) -> str:
    """Return what kubeadm has against a file, warnings included. The file by which nodes find the cluster is made by
    a person: any that exists will do.
    """
    (folder / "discovery.conf").write_text("")
    file = folder / "config.yaml"
    file.write_text(text.replace(DISCOVERY_FILE, str(folder / "discovery.conf")))
    done = subprocess.run(
        [kubeadm, "config", "validate", "--config", str(file)], capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 and done.stdout.strip() == "ok" and not done.stderr else done.stdout + done.stderr


def files(name: str) -> dict[str, str]:
    made = bootstrap(variation(name, {}))
    kinds = b"kubeadm.k8s.io/"
    # User data holds the same files once more.
    return {path: content.decode() for path, content in made.items() if "/kubeadm/" in path and kinds in content}


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_file_is_valid(kubeadm: str, tmp_path: Path, name: str) -> None:
    found = {path: said(kubeadm, tmp_path, text) for path, text in files(name).items()}
    # One for each node, and one for upgrades.
    assert len(found) == len(variation(name, {}).nodes) + 1
    assert {path: answer for path, answer in found.items() if answer} == {}


CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"


@pytest.mark.parametrize("pods", ["fd00:1::/40", "fd00:1::/56", "fd00:1::/64", "fd00:1::/112"])
def test_a_second_family_and_a_ca_of_the_site_are_valid(kubeadm: str, tmp_path: Path, pods: str) -> None:
    families = {"podCIDR6": pods, "serviceCIDR6": "fd00:2::/112"}
    changes = {"kubernetes": families, "networks": {"node": {"cidr6": "fd00:3::/64"}}, "site": {"ca": CA}}
    made = bootstrap(variation("ml50", changes))["clusters/ml50/bootstrap/kubeadm/init.yaml"].decode()
    assert "oidc-ca-file" in made
    assert said(kubeadm, tmp_path, made) == ""


@pytest.mark.parametrize(
    ("old", "new", "answer"),
    [
        ("advertiseAddress:", "advertisedAddress:", "unknown field"),
        ("kubeadm.k8s.io/v1beta4", "kubeadm.k8s.io/v1beta9", "unknown configuration APIs"),
        ("serviceSubnet: 10.96.0.0/12", "serviceSubnet: 10.96.0.0", "serviceSubnet"),
        ("10.10.0.10:6443", "10.10.0.10:99999", "must be a valid number"),
        ("clusterDNS:", "clusterDns:", "unknown field"),
    ],
)
def test_a_mistake_is_found(kubeadm: str, tmp_path: Path, old: str, new: str, answer: str) -> None:
    (text,) = (text for path, text in files("ml50").items() if path.endswith("init.yaml"))
    assert old in text
    assert answer in said(kubeadm, tmp_path, text.replace(old, new))


def test_a_join_file_without_its_discovery_file_is_refused(kubeadm: str, tmp_path: Path) -> None:
    (text,) = (text for path, text in files("ml50").items() if path.endswith("join-gpu-01.yaml"))
    content = yaml.load(text, Loader)
    content["discovery"]["file"]["kubeConfigPath"] = str(tmp_path / "absent")
    assert "absent" in said(kubeadm, tmp_path, yaml.safe_dump(content))


def dry_run(kubeadm: str, folder: Path, words: str, *, patched: bool = True) -> tuple[str, str]:
    """Upgrade a GPU node as kubeadm would: it makes up a cluster of 1.35.0 where it has none. Return what it says, and
    the configuration that kubelet would have. Where it is not `patched`, the file names no patches.
    """
    made = bootstrap(variation("ml50", {}))
    below = f"clusters/ml50/bootstrap/node/pools/gpu-training{PATCHES}/"
    (folder / "patches").mkdir()
    for path, content in made.items():
        if path.startswith(below):
            (folder / "patches" / path.removeprefix(below)).write_bytes(content)
    content = yaml.load(made["clusters/ml50/bootstrap/kubeadm/upgrade.yaml"], Loader)
    for how in ("apply", "node"):
        assert content[how]["patches"] == {"directory": PATCHES}
        content[how] |= {"patches": {"directory": str(folder / "patches")} if patched else None}
    (folder / "upgrade.yaml").write_text(yaml.safe_dump(content))
    (folder / "dry").mkdir()
    command = [kubeadm, "upgrade", *words.split(), "--dry-run", "--ignore-preflight-errors=all"]
    command += [f"--config={folder}/upgrade.yaml", f"--kubeconfig={folder}/none"]
    env = {**os.environ, "KUBEADM_UPGRADE_DRYRUN_DIR": str(folder / "dry")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, (folder / "dry/config.yaml").read_text()


@pytest.mark.parametrize("words", ["apply --yes", "node"])
def test_an_upgrade_keeps_the_patches_of_a_gpu_node_and_asks_nothing(kubeadm: str, tmp_path: Path, words: str) -> None:
    said, kubelet = dry_run(kubeadm, tmp_path, words)
    assert "cpuManagerPolicy: static" in kubelet
    if "apply" in words:
        assert 'You have chosen to upgrade the cluster version to "v1.35.3"' in said
        for part in ("kube-apiserver", "kube-controller-manager", "kube-scheduler"):
            assert f"image: registry.k8s.io/{part}:v1.35.3" in said


def test_an_upgrade_without_the_file_s_patches_loses_them(kubeadm: str, tmp_path: Path) -> None:
    """The control: kubeadm itself adds nothing of them."""
    _, kubelet = dry_run(kubeadm, tmp_path, "node", patched=False)
    assert "cpuManagerPolicy: static" not in kubelet
