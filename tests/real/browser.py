"""What a real browser makes of a page: Chromium, headless, of a file and without the network."""

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

MEASURE = """
const page = document.querySelector('iframe').contentDocument;
for (const each of page.querySelectorAll('details')) each.open = true;
const texts = [], walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode;
  if (!node.data.trim() || node.parentElement.closest('title, style')) continue;
  const range = page.createRange();
  range.selectNodeContents(node);
  const drawn = node.parentElement.closest('svg');
  const frame = drawn ? drawn.getBoundingClientRect() : null;
  for (const box of range.getClientRects()) {
    if (box.width > 0.5) texts.push({
      text: node.data.trim().slice(0, 60), size: parseFloat(getComputedStyle(node.parentElement).fontSize),
      box: [box.left, box.top, box.right, box.bottom],
      frame: frame && [frame.left, frame.top, frame.right, frame.bottom],
    });
  }
}
const pictures = [...page.querySelectorAll('svg')];
const scale = pictures.map(each => each.getBoundingClientRect().width / each.viewBox.baseVal.width);
const root = page.documentElement;
const found = {texts, wide: root.scrollWidth, width: root.clientWidth, pictures: scale.length};
found.scale = Math.min(1, ...scale);
document.getElementById('found').textContent = JSON.stringify(found);
"""


class Text(NamedTuple):
    """One line of a text as it is drawn, in pixels; `frame` is the picture it is in."""

    text: str
    size: float
    box: tuple[float, float, float, float]
    frame: tuple[float, float, float, float] | None

    def covers(self, other: "Text") -> bool:
        """Whether both take the same place, by more than a pixel both ways."""
        (left, top, right, bottom), (west, north, east, south) = self.box, other.box
        return min(right, east) - max(left, west) > 1 and min(bottom, south) - max(top, north) > 1

    @property
    def leaves_its_picture(self) -> bool:
        """Whether it is drawn beyond the edge of its picture."""
        if self.frame is None:
            return False
        left, top, right, bottom = self.frame
        return self.box[0] < left - 1 or self.box[1] < top - 3 or self.box[2] > right + 1 or self.box[3] > bottom + 3


class Drawn(NamedTuple):
    """A page in a window of some width: its texts, how wide it is, how many pictures, and by how much the one that was
    made smallest was.
    """

    texts: list[Text]
    wide: float
    width: float
    pictures: int
    scale: float

    def overlapping(self) -> list[tuple[str, str]]:
        """Return pairs of texts that lie one on the other."""
        found: list[tuple[str, str]] = []
        open_: list[Text] = []
        for text in sorted(self.texts, key=lambda one: one.box[1]):
            open_ = [one for one in open_ if one.box[3] > text.box[1]]
            found += [(one.text, text.text) for one in open_ if one.covers(text)]
            open_.append(text)
        return found


def chromium() -> str:
    """Return the browser; without one the test fails in CI and is skipped elsewhere."""
    names = ("chromium", "chromium-browser", "google-chrome")
    if found := next(filter(None, map(shutil.which, names)), None):
        return found
    pytest.skip("no Chromium: apt-get install chromium")


def draw(page: str, width: int, folder: Path) -> Drawn:
    """Have a page drawn in a window of so many pixels, with all that is folded opened, and measure it. The page's own
    policy allows no script: those that measure run around it.
    """
    frame = f'<iframe width="{width}" height="2000" style="border:0" srcdoc="{html.escape(page)}"></iframe>'
    script = f"onload = () => {{ {MEASURE} }}"
    file = folder / "around.html"
    file.write_text(f"<!doctype html><meta charset=utf-8>{frame}<pre id=found></pre><script>{script}</script>")
    words = ["--headless=new", "--disable-gpu", "--no-first-run", f"--user-data-dir={folder / 'profile'}"]
    words += ["--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking", "--hide-scrollbars"]
    words += ["--no-sandbox"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [chromium(), *words, f"--window-size={max(width, 800)},2000", "--dump-dom", f"file://{file}"],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert said, done.stderr[-2000:]
    assert said[1], done.stderr[-2000:]
    found = json.loads(html.unescape(said[1]))
    texts = [Text(one["text"], one["size"], tuple(one["box"]), one["frame"]) for one in found.pop("texts")]
    return Drawn(texts, **found)
