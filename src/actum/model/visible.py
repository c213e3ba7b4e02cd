# SPDX-License-Identifier: Apache-2.0
"""Text shown to a person hides nothing: every character that draws nothing or moves others is spelled out.

An escape is written ``⟨U+202E⟩``; the bracket itself is escaped too, so two different texts never look alike
because of an escape. The module does not say that a text is harmless, and it cannot tell twins of one script.

Rules
1. Controls, bidi and format characters, separators, fillers, unassigned and private ones are escaped.
2. A run of blanks long enough to push text out of sight is counted instead of drawn.
3. A word that mixes scripts has the letters of its rarer scripts named by code point.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

BLANKS_MAX = 32

_OPEN, _CLOSE = "\u27e8", "\u27e9"
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# These are letters, marks or symbols by category and yet draw nothing.
_DRAW_NOTHING = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}
    | set(range(0x180B, 0x1810))
    | set(range(0xFE00, 0xFE10))
    | set(range(0xE0100, 0xE01F0))
)
_blanks = re.compile(rf" {{{BLANKS_MAX},}}")
_word = re.compile(r"[^\W\d_]+")
# Japanese writes with these together, and with Latin; mixing them is ordinary.
_ORDINARY_WITH_LATIN = frozenset({"HIRAGANA", "KATAKANA", "CJK", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"})


def visible(text: str, *, keep_lines: bool = False) -> str:
    """Return `text` with everything that could hide or reorder it spelled out.

    With `keep_lines` a line feed and a tab stay: for previews of content shown over several lines.
    """
    if text.isascii() and text.isprintable() and len(text) < BLANKS_MAX:
        return text
    # Rule 1
    shown = "".join(_show(character, keep_lines) for character in text)
    # Rule 2
    return _blanks.sub(lambda run: f"{_OPEN}{len(run.group())} blanks{_CLOSE}", shown)


def mixed_script(text: str) -> tuple[str, ...]:
    """Return, for each word that mixes scripts, its odd letters as ``а U+0430 CYRILLIC``."""
    if text.isascii():
        return ()
    # Rule 3
    found: dict[str, None] = {}
    for word in _word.findall(unicodedata.normalize("NFC", text)):
        scripts = Counter(script for script in map(_script, word) if script)
        kinds = {"LATIN" if script in _ORDINARY_WITH_LATIN else script for script in scripts}
        if len(kinds) < 2:
            continue
        usual = max(scripts, key=lambda script: (scripts[script], script == "LATIN"))
        for letter in word:
            script = _script(letter)
            if script and script != usual:
                found[f"{letter} U+{ord(letter):04X} {script}"] = None
    return tuple(found)


def _show(character: str, keep_lines: bool) -> str:
    if keep_lines and character in "\n\t":
        return character
    code = ord(character)
    blank = unicodedata.category(character) == "Zs" and character != " "
    hidden = unicodedata.category(character) in _HIDDEN_CATEGORIES or code in _DRAW_NOTHING
    if blank or hidden or character in (_OPEN, _CLOSE):
        return f"{_OPEN}U+{code:04X}{_CLOSE}"
    return character


def _script(letter: str) -> str:
    """Return the first word of a letter's Unicode name, which is its script; empty for what is no letter."""
    if not letter.isalpha():
        return ""
    return unicodedata.name(letter, "UNNAMED").split(" ", 1)[0]
