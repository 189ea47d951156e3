"""Text and documents that YAML readers are known to misread, for properties over random values."""

from typing import Any

from hypothesis import strategies as st

ONE_WORD = r"""
    y n yes no on off null ~ true false Y N Yes NO On OFF Null NULL TRUE False .inf -.Inf +.INF .nan .NaN
    0777 0o777 0O7 0x1F 0b101 -0b1 0o+1 0b-1 +_0x1 -_0o7 1e3 12e03 1E3 1.e3 .5 5. +1 -1 08 09 0. -0 1_000 _1
    -_2._69 0__x1 1__0 0x_1 1:30 190:20:30.15 -1:30 2001-12-14 2001-1-1 2001-12-14T21:59:43.10-05:00 0x1p-2
    = << =: <<: - -- --- ---a ... ...a ? : # | > |- >+ & &a * *a ! !!str % %YAML @ ` [ ] { } , -. +. . .. _ +
    --foo=bar -c a:b a: :a a# #a a#b http://x 10.0.0.1 1.35.3 {{x}} $(A) $A /x (a) ~/x e1 1e 1e+ 0x 0o 0b inf
    Infinity nan NaN None undefined 12345678901234567890 it's 'a' "a" a"b a\b \ \n ' " '' "" a,b a|b
"""
PHRASES = (
    "§ §\t§\n§\n\n§ \n§\n §\n\t§\t\n§a: b§a #b§a § a§a\t§- a§? a§a\n§a\n\n§a\n §a\n \n§\na§\n\n a§ a\nb§\ta\nb§a\n\tb"
    "§a\nb§#!/bin/sh\nset -e\n§a\n---\nb\n§a\n# b\n§2001-12-14 21:59:43§--- a§a\r\nb§x\u0085y§x\u2028\ny§\ufeffa§한국어"
    "§\U0001f600"
)
WORDS = [*ONE_WORD.split(), *PHRASES.split("§")]
NASTY = list(
    "0123456789exo_:-#'\"\\ \t\n\rab.+,[]{}|>&*!%@`~?=<^$();/\0\x1b\x7f\x80\x85\x9f\xa0\xad\u0660\u017f\u200b\u2028"
    "\u2029\u202e\u3000\ud55c\ud7ff\ue000\ufeff\ufffe\uffff\U0001f600\U0001fffe"
)


def texts(alphabet: list[str]) -> st.SearchStrategy[str]:
    word, nasty = st.sampled_from(WORDS), st.text(alphabet, max_size=12)
    return st.one_of(word, nasty, st.tuples(word, nasty).map("".join), st.tuples(nasty, word).map("".join))


def documents(text: st.SearchStrategy[str], key: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    whole = st.integers(-(2**63), 2**63 - 1)
    fraction = st.floats(allow_nan=False, allow_infinity=False)
    leaf = st.one_of(text, text, text, st.none(), st.booleans(), whole, fraction)
    return st.recursive(
        leaf,
        lambda below: st.one_of(st.lists(below, max_size=5), st.dictionaries(key, below, max_size=5)),
        max_leaves=15,
    )
