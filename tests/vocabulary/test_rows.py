"""What surviving rows stand for."""

from __future__ import annotations

import pytest

from birthmark.vocabulary.kinds import kind_of, script_of
from birthmark.vocabulary.rows import is_token_table, tell
from birthmark.vocabulary.token import Token, Vocabulary


def token(content: str, raw: bytes | None = None, *, special: bool = False) -> Token:
    """An ordinary token, or one of other bytes."""
    return Token(content, content.encode() if raw is None and not special else raw, special)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (None, "no-token"),
        (token("<|reserved_special_token_5|>", special=True), "reserved"),
        (token("<extra_id_3>", special=True), "reserved"),
        (token("[unused12]"), "reserved"),
        (token("unused"), "ordinary"),
        (token("<s>", special=True), "special"),
        (token("\u00c0", b"\xc0"), "impossible-byte"),
        (token("\u00ff", b"\xff"), "impossible-byte"),
        (token("\u00c3", b"\xc3"), "byte"),
        (token("x", b"\xe4\xb8"), "fragment"),
        (token("   "), "space"),
        (token("\r", b"\r"), "space"),
        (token(" SolidGoldMagikarp"), "ordinary"),
    ],
)
def test_kinds(given: Token | None, kind: str) -> None:
    """Each token is of one kind, by its bytes and its marks."""
    assert kind_of(given) == kind


@pytest.mark.parametrize(
    ("text", "script"),
    [
        (" the", "Latin"),
        ("\u0434\u0430", "Cyrillic"),
        ("\u4e2d\u6587", "Cjk"),
        ("123", None),
        ("\ufb00a\u0434", "Latin"),
    ],
)
def test_scripts(text: str, script: str | None) -> None:
    """The script is that of most letters."""
    assert script_of(token(text)) == script


class TestTell:
    vocabulary = Vocabulary(
        "tokenizer.json",
        {0: token("a"), 1: token("<s>", special=True), 2: token("\u0434\u0430"), 3: token("\u00c0", b"\xc0")},
    )

    def test_tokens_are_named(self) -> None:
        """Rows of a table of tokens are named by kind, with examples and scripts."""
        told = tell("model.embed_tokens.weight", (8, 16), "row", [1, 2, 3, 6, 7], self.vocabulary)

        assert told is not None
        assert [row.kind for row in told.rows] == [
            "special", "ordinary", "impossible-byte", "no-token", "no-token",
        ]  # fmt: skip
        assert "2 rows past the last token of the tokenizer (6, 7)" in told.sentence
        assert "they are 2 rows" in told.sentence
        assert "1 ordinary token that training never met (2" in told.sentence
        assert "Cyrillic 1" in told.sentence
        alone = tell("model.embed_tokens.weight", (8, 16), "row", [1], self.vocabulary)
        assert alone is not None
        assert "it is 1 control token or marker (1" in alone.sentence

    def test_hostile_tokens_stay_harmless(self) -> None:
        """A token with control characters is quoted, escaped and cut."""
        vocabulary = Vocabulary("tokenizer.json", {0: token("a"), 1: token("\x1b[31m" + "x" * 500)})

        told = tell("wte", (2, 16), "row", [1], vocabulary)

        assert told is not None
        assert "\x1b" not in told.sentence
        assert len(told.sentence) < 300

    def test_a_table_of_another_size_is_none_of_tokens(self) -> None:
        """Fewer rows than tokens, or very many more, and the tokenizer is not the table's."""
        assert not is_token_table(3, self.vocabulary)
        assert not is_token_table(4 + 2049, self.vocabulary)
        assert is_token_table(4 + 2048, self.vocabulary)
        assert tell("layers.0.weight", (9000, 16), "row", [1], self.vocabulary) is None

    def test_positions(self) -> None:
        """The end of a table of positions says how long sequences were."""
        told = tell("transformer.wpe.weight", (512, 64), "row", list(range(178, 512)), None)
        middle = tell("transformer.wpe.weight", (512, 64), "row", [3, 9], None)

        assert told is not None
        assert "no sequence in training was longer than 178" in told.sentence
        assert middle is not None
        assert "2 of 512 never occurred" in middle.sentence

    def test_inputs_and_classes(self) -> None:
        """Columns are inputs; rows of a last layer are classes."""
        columns = tell("fc1.weight", (400, 784), "column", [0, 1, 2], None)
        rows = tell("classifier.weight", (10, 64), "row", [4], None)

        assert columns is not None
        assert "3 of 784 inputs" in columns.sentence
        assert rows is not None
        assert rows.things == "class"

    def test_classes_have_names(self) -> None:
        """The configuration's, where it names exactly the rows there are."""
        named = tell("classifier.weight", (3, 64), "row", [1], None, {0: "'a'", 1: "'b'", 2: "'c'"})
        others = tell("classifier.weight", (4, 64), "row", [1], None, {0: "'a'", 1: "'b'", 2: "'c'"})

        assert named is not None
        assert "By config.json: 1 'b'." in named.sentence
        assert others is not None
        assert "config.json" not in others.sentence

    def test_pixels(self) -> None:
        """Of 784 inputs it is said how many lie at the border; of other numbers nothing."""
        told = tell("fc1.weight", (400, 784), "column", [0, 27, 28 * 14 + 14], None)
        other = tell("fc1.weight", (400, 783), "column", [0], None)

        assert told is not None
        assert "2 lie within 4 of the border" in told.sentence
        assert other is not None
        assert "pixels" not in other.sentence

    def test_nothing_is_made_up(self) -> None:
        """Whole tensors, and rows of layers that no name explains, are left unexplained."""
        assert tell("layers.3.weight", (10, 64), "row", [1], None) is None
        assert tell("layers.3.weight", (10, 64), "tensor", list(range(10)), None) is None
        assert tell("wpe", (10, 64), "row", [], None) is None
