"""Nothing of what is printed commands a terminal or a CI system; colours only where they are wanted."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from reference import ROOT

from generator.cli import run, terminal
from generator.cli.groups import grouped
from generator.cli.output import MOST, show
from generator.model.finding import Finding, Position
from generator.repository.locate import Located

NASTY = "a\x1b[31mb\x07c\x85d\u2028e\u202ef"
CLUSTER = (ROOT / "clusters/ml50/cluster.yaml").read_text()


def located(number: int, **more: Any) -> Located:
    finding = Finding(file="f", message=f"m{number}", fix="x", code="GEN-X-001", **more)
    return Located(finding, Position(number + 1, 1, 2))


def clusters(folder: Path, text: str, name: str = "ml50") -> str:
    (folder / "clusters" / name).mkdir(parents=True)
    (folder / "clusters" / name / "cluster.yaml").write_text(text)
    return str(folder)


def test_all_is_printed_by_one_module() -> None:
    for file in sorted((ROOT / "generator").rglob("*.py")):
        found = re.findall(
            r"click\.s?echo\(|click\.style\(|(?<!\w)print\(|sys\.std(?:out|err)\.write", file.read_text()
        )
        assert not found or file.name == "terminal.py", file


@pytest.mark.parametrize("output", ["text", "json", "github"])
def test_no_control_character_of_a_finding_is_printed(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    finding = Finding(
        file=f"clusters/{NASTY}\n::add-mask::x/c.yaml", message=f"{NASTY}\n::error::", fix=NASTY, code="C"
    )
    show([Located(finding, Position(1, 1, 3), NASTY)], output if output != "json" else "text")
    out = capsys.readouterr().out
    assert all(each.isprintable() or each == "\n" for each in out)
    assert not [line for line in out.splitlines()[1:] if line.startswith("::")]


def test_properties_of_an_annotation_cannot_be_added(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.annotate("error", "50%\nx\r\x07", file="a,line=1::b", line=3)
    assert capsys.readouterr().out == "::error file=a%2Cline=1%3A%3Ab,line=3::50%25%0Ax\\r\\x07\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://ann:s3cret@git.example.org/x", "https://ann:******@git.example.org/x"),
        ("https://t0ken@git.example.org/x", "https://*****@git.example.org/x"),
        ("oci://ann:s3/@r@[::1]:5000/x", "oci://ann:*****@[::1]:5000/x"),
        ("ssh://git:s3cret@host", "ssh://git:******@host"),
        ("ssh://git@host/x git@host:x", None),
        ("oci://host:5000/x@sha256:0", None),
        ("https://host:8080/x@v1, http://[::1]:80/x@v1", None),
        ("https://<user>:<password>@host https://$USER:$PASSWORD@host", None),
    ],
)
def test_no_password_of_an_address_is_printed(text: str, shown: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.say(text)
    assert capsys.readouterr().out == f"{shown or text}\n"
    terminal.say_json([text])
    assert json.loads(capsys.readouterr().out) == [shown or text]
    terminal.annotate("error", text)
    assert capsys.readouterr().out == f"::error::{shown or text}\n"


def test_json_stays_json(capsys: pytest.CaptureFixture[str]) -> None:
    nasty = f"{NASTY}\U000e0001\U0010ffff"
    terminal.say_json({"a": nasty})
    out = capsys.readouterr().out
    assert json.loads(out) == {"a": nasty}
    assert all(each.isprintable() or each == "\n" for each in out)


def test_what_the_user_typed_is_printed_without_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([f"{NASTY}"]) == 2
    assert all(each.isprintable() or each == "\n" for each in capsys.readouterr().err)


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_colour_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert terminal.colour() is None
    monkeypatch.setenv(name, value)
    assert terminal.colour() is False


def test_a_wide_character_takes_two_columns(capsys: pytest.CaptureFixture[str]) -> None:
    line = "name: 서울, x: 1"
    show([Located(Finding(file="f", message="m", code="C"), Position(1, 14, 15), line)], "text")
    show([Located(Finding(file="f", message="m", code="C"), Position(1, 7, 9), line)], "text")
    first, second = [each for each in capsys.readouterr().out.splitlines() if "^" in each]
    assert first == f"      | {' ' * (len(line[:13]) + 2)}^"
    assert second == f"      | {' ' * 6}^^^^"


def test_one_misspelt_pool_is_one_group_with_its_cause_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = clusters(tmp_path, CLUSTER.replace("\n    gpu-training:", "\n    gpu-trainin:"))
    assert run(["check", "-C", where]) == 1
    out = capsys.readouterr().out
    told = re.findall(r"GEN-\w+-\d+", out)
    assert out.startswith("16 findings have one cause: pool gpu-training is not described\n")
    assert told == ["GEN-NODE-009", "GEN-NODE-008", "GEN-NODE-008", "GEN-TEAM-001"]
    assert "... and 12 more with that cause" in out
    assert "did you mean gpu-training?" in out
    assert run(["check", "-C", where, "--output", "json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert len(found) == 16
    assert {one["cause"] for one in found} == {"pool gpu-training is not described"}


def test_what_contradicts_one_place_is_one_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = clusters(tmp_path, CLUSTER.replace("node: {cidr: 10.10.0.0/22", "node: {cidr: 10.11.0.0/22"))
    assert run(["check", "-C", where]) == 1
    out = capsys.readouterr().out
    assert out.startswith("53 findings have one cause: networks.node.cidr, line 49\n")
    # The first of each code.
    assert re.findall(r"GEN-\w+-\d+", out) == ["GEN-K8S-004", "GEN-NET-030", "GEN-NET-022", "GEN-NODE-003"]


def test_a_few_of_one_cause_are_all_shown() -> None:
    (group,) = grouped([located(number, cause="one") for number in range(4)])
    assert (len(group.shown), group.more) == (4, 0)
    (group,) = grouped([located(number, cause="one") for number in range(5)])
    assert (len(group.shown), group.more) == (3, 2)


@pytest.mark.parametrize("output", ["text", "github"])
def test_a_flood_ends_with_its_count(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    show([located(number) for number in range(MOST + 234)], output)
    told = capsys.readouterr()
    assert len(re.findall("GEN-X-001", told.out)) == MOST
    assert told.err == "... and 234 more findings (all of them: --output json)\n"


@pytest.mark.parametrize("start", [["-m", "generator"], ["-c", "from generator.__main__ import main; main()"]])
def test_ctrl_c_while_modules_are_imported_is_one_line(tmp_path: Path, start: list[str]) -> None:
    slow = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)\n"
    (tmp_path / "click.py").write_text(slow)
    path = os.pathsep.join((str(tmp_path), str(ROOT)))
    done = subprocess.run(
        [sys.executable, "-P", *start],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=False,
        # A shell that starts the tests in the background has them, and their children, ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stderr, done.stdout) == (130, b"gen: stopped\n", b"")


HANGING = """
import signal, socket
from generator import cli, process

for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)  # who runs in the background may have been told to ignore it

def run(_arguments):
    server = socket.create_server(("127.0.0.1", 0))
    def of_a_program():
        process.run(["sleep", "61.5"])
    def of_a_server():
        print("begun", flush=True)
        socket.create_connection(server.getsockname()).recv(1)
    with process.threads() as pool:
        try:
            for one in [pool.submit(of_a_program), pool.submit(of_a_server)]:
                one.result()
        except KeyboardInterrupt:
            return 130

cli.run = run
cli.main()
"""


TIDYING = """
import os, signal, time
from generator import cli

def run(_arguments):
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, cli._stopped)
    try:
        os.kill(os.getpid(), signal.SIGHUP)
    except KeyboardInterrupt:
        for _ in range(TIMES):
            os.kill(os.getpid(), signal.SIGHUP)
        print("tidied", flush=True)
    return 130

cli.run = run
cli.main()
"""


@pytest.mark.parametrize(("times", "out"), [(1, b"tidied\n"), (2, b"")])
def test_a_second_signal_leaves_it_tidy_up_and_a_third_does_not(times: int, out: bytes) -> None:
    """A terminal that is closed sends two: the kernel one, and its shell one."""
    program = TIDYING.replace("TIMES", str(times))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (129, out, b"")


def test_a_signal_while_the_module_of_programs_is_imported_is_no_bug() -> None:
    """Only half of it is there then."""
    program = (
        "import sys, types\nsys.modules['generator.process'] = types.ModuleType('half')\nfrom generator import cli\n"
    )
    program += "try:\n    cli._stopped(15, None)\nexcept KeyboardInterrupt:\n    print('stopped')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b"stopped\n", b"")


def asleep(pid: int) -> None:
    """Return when the first thread of a program waits. The interpreter hears a signal that comes right before its wait
    only after that, and a busy machine can stop it there.
    """
    status = Path(f"/proc/{pid}/task/{pid}/status")
    before = ""
    for _ in range(100):
        now = status.read_text()
        if now == before and "State:\tS" in now:  # it has the number of times that the thread ran
            return
        before = now
        sleep(0.2)
    raise AssertionError(before)


@pytest.mark.parametrize("how", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_gen_ends_at_once_when_it_alone_is_asked_to_whatever_it_waits_for(how: signal.Signals) -> None:
    begun = monotonic()
    with subprocess.Popen(
        [sys.executable, "-c", HANGING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"begun\n"
        asleep(process.pid)
        process.send_signal(how)
        # All that gen started has these pipes: they end with the last of it.
        assert process.communicate(timeout=30) == (b"", b"")
    assert process.returncode == 128 + how
    assert monotonic() - begun < 20


def test_what_is_to_be_ignored_is() -> None:
    """As `nohup` asks it of a program."""
    ask = "import os, signal, sys\nfrom generator import cli\n"
    ask += "cli.run = lambda _: os.kill(os.getpid(), signal.SIGHUP)\ncli.main()\n"
    done = subprocess.run(
        [sys.executable, "-c", ask], check=False, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    assert done.returncode == 0


def test_nothing_goes_back_to_the_beginning_of_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """What stands there would be written over, and a CI system might read a command of its own."""
    terminal.say("name: harmless\r::error::harmful\r\nnext\r")
    assert capsys.readouterr().out == "name: harmless\\r::error::harmful\nnext\n"
