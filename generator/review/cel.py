"""The small part of CEL in which most rules on changes are written, as `!has(oldSelf.a) || self.a == oldSelf.a`.

Anything else (functions, macros, conditions) is not understood, and said so: nobody guesses at a rule.
"""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from generator.build.difference import same
from generator.model.fields import dig

Decide: TypeAlias = Callable[[Any, Any], bool]
"""Tells whether a rule holds for the new value (`self`) and the old one (`oldSelf`), in this order."""

_Value: TypeAlias = Callable[[Any, Any], Any]
_TOKEN = re.compile(
    r"\s*(\|\||&&|==|!=|>=|<=|!|\(|\)|has\(|'[^'\\]*'|-?\d+(?![\w.])|(?:self|oldSelf)(?:\.[a-zA-Z_]\w*)*(?![\w.(\[]))"
)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": same,
    "!=": lambda one, other: not same(one, other),
    ">=": lambda one, other: _ordered(one, other) and one >= other,
    "<=": lambda one, other: _ordered(one, other) and one <= other,
}


class UnclearError(Exception):
    """A rule has a form that is not understood."""


def deciding(rule: str) -> Decide | None:
    """Return what decides a rule; None where its form is not understood."""
    try:
        parser = _Parser(_tokens(rule))
        found = parser.either()
    except (UnclearError, IndexError):
        return None
    return found if not parser.tokens else None


def _tokens(rule: str) -> list[str]:
    found, at = [], 0
    rule = rule.rstrip()
    while at < len(rule):
        match = _TOKEN.match(rule, at)
        if match is None:
            raise UnclearError
        found.append(match[1])
        at = match.end()
    return found


def _ordered(one: Any, other: Any) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (one, other))
    return numbers or (isinstance(one, str) and isinstance(other, str))


class _Parser:
    """Reads tokens from the left: `||` binds least, then `&&`, comparisons, `!`."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens

    def either(self) -> Decide:
        """Read parts of which one must hold."""
        parts = [self._both()]
        while self._taken("||"):
            parts.append(self._both())
        return lambda new, old: any(part(new, old) for part in parts)

    def _both(self) -> Decide:
        parts = [self._comparison()]
        while self._taken("&&"):
            parts.append(self._comparison())
        return lambda new, old: all(part(new, old) for part in parts)

    def _comparison(self) -> Decide:
        left = self._value()
        if not (self.tokens and self.tokens[0] in _COMPARE):
            return lambda new, old: left(new, old) is True
        compare, right = _COMPARE[self.tokens.pop(0)], self._value()
        return lambda new, old: compare(left(new, old), right(new, old))

    def _value(self) -> _Value:
        word = self.tokens.pop(0)
        if word == "!":
            inner = self._value()
            return lambda new, old: inner(new, old) is False
        if word == "(":
            whole = self.either()
            self._expect(")")
            return whole
        if word == "has(":
            path = _path(self.tokens.pop(0))
            self._expect(")")
            return lambda new, old: path(new, old) is not None
        if word.startswith("'"):
            return lambda _new, _old: word[1:-1]
        return _path(word) if word.startswith(("self", "oldSelf")) else _number(word)

    def _taken(self, token: str) -> bool:
        if self.tokens and self.tokens[0] == token:
            self.tokens.pop(0)
            return True
        return False

    def _expect(self, token: str) -> None:
        if not self._taken(token):
            raise UnclearError


def _path(token: str) -> _Value:
    root, *steps = token.split(".")
    if root not in ("self", "oldSelf"):
        raise UnclearError
    return lambda new, old: dig(new if root == "self" else old, *steps)


def _number(token: str) -> _Value:
    if not token.lstrip("-").isdigit():
        raise UnclearError
    return lambda _new, _old: int(token)
