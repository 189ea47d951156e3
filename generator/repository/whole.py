"""Files of one's own beside the repository's tree, each whole or not there."""

import os
from pathlib import Path
from secrets import token_hex

PART = ".part-"


def write_whole(file: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Write a file through a temporary sibling, which does not outlive a failure; `mode` is what the umask takes from.
    What a link leads to is written, and into a device or a pipe: nothing takes their place. Raises OSError.
    """
    file = file.resolve()
    if file.exists() and not file.is_file():
        file.write_bytes(content)
        return
    temporary = file.with_name(f"{PART}{token_hex(8)}")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
            opened.write(content)
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
