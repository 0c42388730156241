"""Kinds of tokens: why training may never have met one.

The kinds go from certain to surprising. A row past the last token belongs to none; a reserved token was set
aside by the tokenizer's makers; some bytes never occur in UTF-8 text. An ordinary token that no text brought
up is the odd one: such tokens make models stumble (Land and Bartolo 2024, arXiv 2405.05417).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Final, Literal

from birthmark.vocabulary.token import Token

Kind = Literal["no-token", "reserved", "special", "impossible-byte", "byte", "fragment", "space", "ordinary"]

#: What each kind means, for readers: of one row, and of several.
MEANINGS: Final[dict[Kind, tuple[str, str]]] = {
    "no-token": ("row past the last token of the tokenizer", "rows past the last token of the tokenizer"),
    "reserved": (
        "token that the tokenizer's makers set aside",
        "tokens that the tokenizer's makers set aside",
    ),
    "special": ("control token or marker", "control tokens and markers"),
    "impossible-byte": ("byte that never occurs in UTF-8 text", "bytes that never occur in UTF-8 text"),
    "byte": ("single byte", "single bytes"),
    "fragment": ("part of a character", "parts of characters"),
    "space": ("piece of white space or control character", "white space and control characters"),
    "ordinary": ("ordinary token that training never met", "ordinary tokens that training never met"),
}
#: Bytes that UTF-8 never uses (RFC 3629, section 3).
_NEVER = frozenset({0xC0, 0xC1, *range(0xF5, 0x100)})
_RESERVED = re.compile(
    r"reserved|unused|extra_id|placeholder|dummy|\[pad\d|<pad_?\d|\bpad\d|<\|?(?:extra|fim_reserved)_?\d",
    re.IGNORECASE,
)


def kind_of(token: Token | None) -> Kind:
    """What kind of token a row stands for; None stands for a row that no token has."""
    if token is None:
        return "no-token"
    if _RESERVED.search(token.content) and (token.special or not token.content.isalpha()):
        return "reserved"
    if token.special or token.raw is None:
        return "special"
    if len(token.raw) == 1 and token.raw[0] in _NEVER:
        return "impossible-byte"
    if len(token.raw) == 1 and token.raw[0] > 0x7F:
        return "byte"
    text = token.text
    if text is None:
        return "fragment"
    if not text or all(unicodedata.category(character)[0] in "ZC" for character in text):
        return "space"
    return "ordinary"


def script_of(token: Token | None) -> str | None:
    """The script that most of a token's letters belong to, by their Unicode names; None without letters."""
    text = token.text if token is not None else None
    if not text:
        return None
    scripts = Counter(
        unicodedata.name(character, "UNNAMED").split()[0]
        for character in text
        if unicodedata.category(character)[0] == "L"
    )
    return scripts.most_common(1)[0][0].capitalize() if scripts else None
