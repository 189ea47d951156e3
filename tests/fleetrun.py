"""A fleet's run, step by step on real Git: the script of its pods, without pods."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from reference import ROOT

from generator.components.fleet.install import scripts

GEN = (sys.executable, "-m", "generator")


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    return subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


class Run:
    """The steps of one run, each as a pod of its own would do it: only the volume stays. `gen` is the command there."""

    def __init__(self, folder: Path, url: str, target: str = "gen/fleet", gen: Sequence[str] = GEN) -> None:
        self.folder, self.commit, self.target, self.url = folder, "", target, url
        (folder / "scripts").mkdir(parents=True)
        for name, text in scripts()["data"].items():
            (folder / "scripts" / name).write_text(text)
        program = folder / "bin/gen"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\ncd {ROOT} && exec {shlex.join(gen)} "$@"\n')
        program.chmod(0o755)

    def begin(self, name: str, **env: str) -> "subprocess.Popen[str]":
        """Begin a step, with all that it starts in a group of its own."""
        home = self.folder / "home"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        said = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(home),
            "WORK": str(self.folder / "work"),
            "CLONE": str(home / "repository"),
            "HOW": "render",
            "SHARDS": "2",
            "COMMIT": self.commit,
            "AUTHOR": "gen <gen@example.org>",
            "URL": self.url,
            "BRANCH": "main",
            "TARGET": self.target,
            "SECRETS": str(self.folder / "git"),
            "AUTHORITIES": str(self.folder / "ca.crt"),
            **env,
        }
        (self.folder / "work").mkdir(exist_ok=True)
        words = ["bash", str(self.folder / "scripts/fleet.sh"), name]
        return subprocess.Popen(words, env=said, cwd="/", stdout=-1, stderr=-1, text=True, start_new_session=True)

    def step(self, name: str, **env: str) -> "subprocess.CompletedProcess[str]":
        """Run a step; the commit that it tells is what the next ones get."""
        process = self.begin(name, **env)
        try:
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
        done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
        sys.stdout.write(f"{name} {env} -> {done.returncode}\n{done.stdout}{done.stderr}")
        told = self.folder / "home/commit"
        if done.returncode == 0 and told.exists():
            self.commit = told.read_text().strip()
        return done

    def whole(self, **given: str) -> list[int]:
        """Run all steps, as the template orders them, until one fails."""
        codes = []
        parts = [{"PART": str(number)} for number in range(1, int(given.get("SHARDS", "2")) + 1)]
        order = [("clone", {}), *(("part", part) for part in parts), ("join", {})]
        for name, env in (*order, *(("check", part) for part in parts), ("push", {})):
            codes.append(self.step(name, **env, **given).returncode)
            if codes[-1]:
                break
        return codes
