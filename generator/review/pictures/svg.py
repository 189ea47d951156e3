"""What pictures share."""

from typing import NamedTuple

from generator.review.markup import Html, Part, tag

WIDTH = 340
"""The widest that a picture may be, in pixels: it fits a page of 400 without being made smaller."""

_WIDE, _CAPITAL, _NARROW, _USUAL, _FULL = 11, 9.2, 4.4, 7.2, 12
"""What letters of 11 pixels take, in pixels: as wide as those of DejaVu Sans, which is wider than most."""


def picture(width: float, height: float, title: str, *parts: Part) -> Html:
    """Return a picture of so many pixels. `title` says to those who cannot see it what it shows."""
    box = f"0 0 {width:g} {height:g}"
    return tag("svg", tag("title", title), *parts, viewBox=box, width=width, height=height, role="img")


class At(NamedTuple):
    """Where something is drawn: its left upper corner, for text the left end of its line; and its size."""

    x: float
    y: float
    width: float
    height: float = 0


def words(at: At, text: str, kind: str | None = None) -> Html:
    """Return one line of text, cut so that it takes no more than its width."""
    return tag("text", cut(text, at.width), x=at.x, y=at.y, class_=kind)


def cut(text: str, room: float) -> str:
    """Return text that takes so many pixels at most: the end makes way, with two dots."""
    if length(text) <= room:
        return text
    while text and length(text) + 2 * _NARROW > room:
        text = text[:-1]
    return f"{text}.."


def length(text: str) -> float:
    """Return how many pixels a text takes at most, so that it can be told before it is drawn."""
    return sum(map(_letter, text))


def _letter(sign: str) -> float:
    if not sign.isascii():
        return _FULL
    if sign in "mMW@%&":
        return _WIDE
    return _CAPITAL if sign.isupper() or sign in "w+=<>~_" else _NARROW if sign in "ijltf.,:;'|!I ()[]/-" else _USUAL


def box(at: At, kind: str, about: str = "") -> Html:
    """Return a rectangle; `about` is shown where the pointer rests on it."""
    shape = tag("rect", x=at.x, y=at.y, width=at.width, height=at.height, rx=2, class_=kind)
    return tag("g", tag("title", about), shape) if about else shape
