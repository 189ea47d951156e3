"""Files that are whole or not there."""

import os
from pathlib import Path
from threading import Thread

from generator.repository.whole import write_whole


def test_what_a_link_leads_to_is_written_and_a_pipe_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", b"a")
    assert ((tmp_path / "link").is_symlink(), (tmp_path / "file").read_bytes()) == (True, b"a")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_whole(pipe, b"b")
    reader.join(20)
    assert (read, pipe.is_fifo(), len(list(tmp_path.iterdir()))) == ([b"b"], True, 3)
