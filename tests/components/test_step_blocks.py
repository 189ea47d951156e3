"""Commands of the steps work where they are pasted: in zsh too, as it comes, where people type."""

import re

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
    """Without `interactivecomments` zsh gives the words of a comment to the command, and its apostrophe opens a text."""
    found = [line for block in blocks() for line in block.splitlines() if re.search(r"(^|\s)#", line)]
    assert found == []
