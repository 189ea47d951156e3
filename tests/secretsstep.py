"""The step that makes Secrets, with a person at a machine and a cluster made of folders."""

import os
import subprocess
from pathlib import Path

from generator.components import compose
from generator.components.kubeadm.steps import steps
from generator.model.cluster import Cluster

# Keeps Secrets as folders of files; like the real one it refuses to make one that is there.
KUBECTL = """#!/bin/sh
[ ! -e "$CLUSTER/away" ] || exit 1
at=$CLUSTER/$2
case "$3 $4 $8" in
'get secret name')
  [ ! -e "$at/$5" ] || echo "secret/$5"
  ;;
'get secret '*)
  key=${8#*{.data.}
  key=$(printf %s "${key%\\}}" | tr -d '\\\\')
  [ ! -e "$at/$5/$key" ] || base64 -w0 "$at/$5/$key"
  ;;
'create secret '*)
  [ ! -e "$at/$6" ] || { echo AlreadyExists >&2; exit 1; }
  for a; do case $a in --from-file=*) [ -s "${a##*=}" ] || exit 1 ;; esac; done
  mkdir -p "$at/$6"
  for a; do case $a in --from-file=*) a=${a#*=}; cp "${a#*=}" "$at/$6/${a%%=*}" ;; esac; done
  ;;
esac
"""


class Admin:
    """A person with a cluster, at a machine whose folder of secrets is empty."""

    def __init__(self, place: Path, cluster: Cluster) -> None:
        self.cluster, self.place = place / "cluster", place
        self.secrets = [secret for component in compose(cluster) for secret in component.secrets]
        text = str(steps(cluster, self.secrets))
        self.script = text[text.index("(\numask") :].partition("```")[0]
        (place / "bin").mkdir()
        (place / "bin/kubectl").write_text(KUBECTL)
        (place / "bin/kubectl").chmod(0o755)
        self.folder = place / "home" / f"{cluster.name}-secrets"
        self.give()

    def give(self) -> None:
        """Put the values that a person gives where they are read."""
        for secret in self.secrets:
            for key in filter(secret.by_person, secret.keys):
                file = self.folder / secret.namespace / secret.name / key
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("x")

    def run(self, *shell: str) -> subprocess.CompletedProcess[str]:
        """Run the step in a shell that reads commands as they come; plain `sh` where none is named."""
        path = f"{self.place}/bin:{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "HOME": str(self.place / "home"), "CLUSTER": str(self.cluster)}
        text = f"{self.script}gone=$?; umask; pwd; exit $gone\n"
        command = shell or ("sh",)
        return subprocess.run(
            command, cwd=self.place, env=env, input=text, capture_output=True, text=True, check=False, timeout=120
        )

    def values(self) -> dict[str, str]:
        """Return what the cluster holds."""
        files = (file for file in self.cluster.rglob("*") if file.is_file())
        return {str(file.relative_to(self.cluster)): file.read_text() for file in files}

    def wanted(self) -> set[str]:
        """Return what the cluster must hold in the end."""
        made = [secret for secret in self.secrets if secret.source in ("given", "generated")]
        return {f"{secret.namespace}/{secret.name}/{key}" for secret in made for key in secret.keys}
