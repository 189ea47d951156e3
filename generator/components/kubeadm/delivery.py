"""How the node files reach the machines by themselves: an inventory and a playbook of Ansible, user data of cloud-init.

Both bring the files of this folder and start its scripts. What they make of a node is said in `node/` alone.
"""

from collections.abc import Iterable, Mapping

from generator.components.component import Manifest
from generator.components.kubeadm.disks import disk_scripts
from generator.components.node_text import Place, Text, static
from generator.model.cluster import Cluster
from generator.model.nodes import Machine

FOLDER = "/var/lib/gen/bootstrap"
"""Where the files lie on a node: the playbook has the same."""


def ansible_files(cluster: Cluster) -> dict[Place, Text | Manifest]:
    """Return the inventory and the playbook, where the cluster asks for them."""
    if "ansible" not in cluster.kubernetes.deliver:
        return {}
    return {
        Place("ansible", "inventory.yaml"): _inventory(cluster),
        Place("ansible", "playbook.yaml"): static("kubeadm/playbook.yaml"),
    }


def _inventory(cluster: Cluster) -> Manifest:
    """Return all nodes by their address, and groups: the control plane, each pool, the nodes whose disks are mounted.
    Ansible takes no hyphen in a group's name.
    """
    hosts = {one.name: {"ansible_host": str(one.address), "node_pool": one.pool} for one in cluster.machines}
    mounted = disk_scripts(cluster)
    groups = {
        "control_plane": cluster.control_plane,
        "disks": [one for one in cluster.machines if Place("node", "disks", f"{one.name}.list") in mounted],
        **{f"pool_{pool.replace('-', '_')}": cluster.in_pools(pool) for pool in sorted(cluster.pools)},
    }
    children = {name: {"hosts": _names(machines)} for name, machines in groups.items()}
    return {"all": {"hosts": hosts, "children": children}}


def _names(machines: Iterable[Machine]) -> Manifest:
    return {machine.name: {} for machine in machines}


def user_data(machine: Machine, files: Mapping[str, bytes]) -> Manifest:
    """Return cloud-config for a node: of the bootstrap folder's `files` those that are its own, and what starts
    `prepare.sh`. It joins nothing and formats nothing.
    """
    mine = {path: content for path, content in files.items() if _is_for(machine, path)}
    return {
        "hostname": machine.name,
        "write_files": [_written(path, content) for path, content in sorted(mine.items())],
        "runcmd": [[f"{FOLDER}/node/prepare.sh", machine.pool]],
    }


def _is_for(machine: Machine, path: str) -> bool:
    """Tell whether a file is for all nodes, for the pool of one, or for this one."""
    serves = machine.role == "control-plane"
    folder, _, name = path.rpartition("/")
    if folder in {"kubeadm", "endpoint"}:
        what, _, node = name.rpartition(".")[0].partition("-")
        of_one = what in {"join", "keepalived"}
        return node == machine.name if of_one else serves or name == "upgrade.yaml"
    if folder == "node":
        return serves or name == "prepare.sh"
    ours = ("node/all/", f"node/pools/{machine.pool}/")
    return path.startswith(ours) or path in {"node/disks/mount.sh", f"node/disks/{machine.name}.list"}


def _written(path: str, content: bytes) -> Manifest:
    mode = "0755" if path.endswith(".sh") else "0644"
    return {"path": f"{FOLDER}/{path}", "permissions": mode, "content": content.decode()}
