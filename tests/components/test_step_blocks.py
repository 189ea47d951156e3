"""Commands of the steps work where they are pasted: in zsh too, as it comes, where people type."""

import os
import re
import subprocess
from pathlib import Path

from stepblocks import blocks

# zshparam(1): what is tied to another variable, read-only, or what a shell reads by itself.
SPECIAL = {
    "argv", "cdpath", "fignore", "fpath", "mailpath", "manpath", "module_path", "path", "pipestatus", "prompt",
    "psvar", "signals", "status", "histchars", "commands", "functions", "aliases", "options", "parameters", "words",
    "PATH", "HOME", "IFS", "UID", "GID", "EUID", "EGID", "USERNAME", "PS1", "RANDOM", "SECONDS", "_",
}  # fmt: skip
ASSIGNED = re.compile(r"(?:^|[\s;&|(])([A-Za-z_][A-Za-z0-9_]*)=|\bfor ([A-Za-z_]+)|\bread (?:-r )?([a-z_ ]+)")


def test_there_are_blocks_of_every_kind() -> None:
    text = "\n".join(blocks())
    for words in ("kubeadm init", "keepalived", "kube-vip", "network/", "upgrade apply", "mount.sh", "openssl rand"):
        assert words in text


def test_no_variable_is_one_of_the_shells_own() -> None:
    found = [name for block in blocks() for names in ASSIGNED.findall(block) for name in " ".join(names).split()]
    assert "encoded" in found
    assert set(found) & SPECIAL == set()


def test_no_block_holds_a_comment() -> None:
    """Without `interactivecomments` zsh gives the words of a comment to the command, and an apostrophe opens a text."""
    found = [line for block in blocks() for line in block.splitlines() if re.search(r"(^|\s)#", line)]
    assert found == []


def test_files_for_interfaces_of_an_older_gen_go_and_no_others(tmp_path: Path) -> None:
    (block,) = (block for block in blocks() if "rm -v" in block)
    there, ours = tmp_path / "etc", tmp_path / "network/host"
    for folder in (there, ours, tmp_path / "bin"):
        folder.mkdir(parents=True)
    head = "# Written by gen. Do not edit; instead: clusters/ml50/cluster.yaml\n"
    for name in ("20-bond0.netdev", "30-eth0.network", "05-gone.network", "05-eth0.network"):
        (there / name).write_text(f"{head}[Match]\n")
    for name in ("20-site.network", "10-netplan-eth0.network"):
        (there / name).write_text("[Match]\n# Not # Written by gen.\n")
    (ours / "05-eth0.network").write_text(head)
    for name, body in {"sudo": '"$@"', "networkctl": "", "hostname": "echo host"}.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    for _ in range(2):
        subprocess.run(
            ["sh", "-ec", block.replace("/etc/systemd/network", str(there))], cwd=tmp_path, env=env, check=True
        )
        assert {file.name for file in there.iterdir()} == {
            "05-eth0.network", "20-site.network", "10-netplan-eth0.network"
        }  # fmt: skip
