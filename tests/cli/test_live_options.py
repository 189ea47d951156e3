"""Options of live verbs that contradict each other are refused before anything is read, fetched or asked."""

from pathlib import Path

import pytest

from generator.cli import run

PAIRS = {
    "rollback --last --dry-run --push": "--dry-run and --push: a dry run makes no commit",
    "rollback --last --dry-run --branch x": "--dry-run and --branch: ",
    "rollback --last --dry-run --push -m x": "--dry-run and --push, --message: ",
    "rollback abc --last": "name the COMMIT to take back, or --last",
    "sync --dry-run --now": "--dry-run and --now: a dry run begins nothing",
    "status --watch --output json": "--watch is for people",
    "secret rotate x --timeout 5": "no --apply and --timeout: ",
    "bootstrap --no-wait": "no --apply and --no-wait: nothing is waited for without it",
    "bootstrap --timeout 5": "no --apply and --timeout: ",
    "bootstrap --apply --no-wait --timeout 5": "--no-wait and --timeout: it waits for nothing",
}


@pytest.mark.parametrize(("words", "said"), PAIRS.items())
def test_what_contradicts_itself_is_refused_first(
    words: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words.split(), "-C", str(tmp_path)]) == 2
    assert f"gen: {said}" in capsys.readouterr().err
