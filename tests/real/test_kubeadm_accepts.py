"""What the real kubeadm says to its files in the bootstrap folder."""

import subprocess
from pathlib import Path

import pytest
import yaml
from validation.build import Loader
from validation.clusters import CLUSTERS, variation

from generator.components.kubeadm.init import DISCOVERY_FILE
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
