"""Tokenizer files: every kind that is read, and what is wrong with broken ones."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from birthmark.errors import MalformedFile
from birthmark.vocabulary.files import find_vocabulary
from birthmark.vocabulary.labels import find_labels
from birthmark.vocabulary.sentencepiece import read_pieces
from birthmark.vocabulary.token import Vocabulary, byte_alphabet, from_byte_level, from_pieces


def vocabulary(folder: Path) -> Vocabulary:
    """The one in a folder, which must be readable."""
    found, trouble = find_vocabulary(str(folder))
    assert trouble is None
    assert found is not None
    return found


def piece(content: str, kind: int = 1) -> bytes:
    """One piece of a SentencePiece model as bytes on the wire."""
    text = content.encode()
    message = b"\x0a" + bytes([len(text)]) + text + b"\x15\x00\x00\x00\x00" + b"\x18" + bytes([kind])
    return b"\x0a" + bytes([len(message)]) + message


class TestTokenizerJson:
    def test_byte_level(self, tmp_path: Path) -> None:
        """Tokens of a byte-level model stand for bytes; added special ones for none."""
        document = {
            "model": {"type": "BPE", "vocab": {"\u0120the": 0, "\u00c3": 1, "\u00c3\u00a9": 2}},
            "decoder": {"type": "Sequence", "decoders": [{"type": "ByteLevel"}]},
            "added_tokens": [
                {"id": 3, "content": "<|end|>", "special": True},
                {"id": 4, "content": "\u00fc"},
            ],
        }
        (tmp_path / "tokenizer.json").write_text(json.dumps(document))

        tokens = vocabulary(tmp_path).tokens

        assert [tokens[number].raw for number in range(5)] == [
            b" the", b"\xc3", "\u00e9".encode(), None, "\u00fc".encode(),
        ]  # fmt: skip
        assert tokens[1].text is None
        assert tokens[3].special

    def test_unigram(self, tmp_path: Path) -> None:
        """A Unigram model lists its pieces in the order of their ids."""
        document = {"model": {"type": "Unigram", "vocab": [["<0x0A>", 0.0], ["\u2581a", -1.5]]}}
        (tmp_path / "tokenizer.json").write_text(json.dumps(document))

        tokens = vocabulary(tmp_path).tokens

        assert (tokens[0].raw, tokens[1].raw) == (b"\n", b" a")

    def test_word_pieces(self, tmp_path: Path) -> None:
        """Word pieces lose their marks; bracketed ones stand for no text."""
        document = {"model": {"type": "WordPiece", "vocab": {"[PAD]": 0, "##ing": 1, "go": 2}}}
        (tmp_path / "tokenizer.json").write_text(json.dumps(document))

        assert [each.raw for each in vocabulary(tmp_path).tokens.values()] == [None, b"ing", b"go"]

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("{}", "describes no model"),
            ('{"model": {"vocab": {"a": -1}}}', "the id -1"),
            ('{"model": {"vocab": {"a": true}}}', "the id True"),
            ('{"model": {"vocab": [[3, 1]]}}', "names a token 3"),
            ('{"model": {}, "added_tokens": [7]}', "no object"),
            ('{"model": {"vocab": {"a": 1, "a": 2}}}', "twice"),
            ("[]", "not a JSON object"),
        ],
    )
    def test_broken_files_are_told(self, tmp_path: Path, text: str, complaint: str) -> None:
        """A tokenizer that makes no sense is left out with one sentence."""
        (tmp_path / "tokenizer.json").write_text(text)

        found, trouble = find_vocabulary(str(tmp_path))

        assert found is None
        assert trouble is not None
        assert complaint in trouble


def test_sentencepiece(tmp_path: Path) -> None:
    """Pieces come in order; control, unknown and unused ones stand for no text."""
    raw = piece("<unk>", 2) + piece("<s>", 3) + piece("\u2581hi") + piece("<0xE2>", 6) + piece("spare", 5)
    (tmp_path / "tokenizer.model").write_bytes(raw + b"\x12\x03abc")

    tokens = vocabulary(tmp_path).tokens

    assert [each.raw for each in tokens.values()] == [None, None, b" hi", b"\xe2", None]
    assert tokens[4].content == "spare (unused)"


@given(st.binary(max_size=200))
def test_any_bytes_are_pieces_or_refused(raw: bytes) -> None:
    """Whatever bytes a model holds, they are read or refused by name."""
    try:
        found = read_pieces(raw, "x")
    except MalformedFile:
        return
    assert sorted(found) == list(range(len(found)))


def test_tiktoken(tmp_path: Path) -> None:
    """Lines of base64 and rank, also under the name tokenizer.model."""
    lines = [f"{base64.b64encode(raw).decode()} {rank}" for rank, raw in enumerate([b"!", b"\xff", b" you"])]
    (tmp_path / "tokenizer.model").write_text("\n".join(lines) + "\n")

    found = vocabulary(tmp_path)

    assert [each.raw for each in found.tokens.values()] == [b"!", b"\xff", b" you"]
    assert found.end == 3


def test_a_broken_list_names_its_line(tmp_path: Path) -> None:
    """A line that is no token is named."""
    (tmp_path / "x.tiktoken").write_text("IQ== 0\nIQ==\n")

    _, trouble = find_vocabulary(str(tmp_path))

    assert trouble is not None
    assert "line 2 of x.tiktoken" in trouble


def test_plain_lists(tmp_path: Path) -> None:
    """vocab.json maps tokens to ids, vocab.txt has one a line; the first file that can be read counts."""
    (tmp_path / "vocab.txt").write_text("[CLS]\n##s\n")
    assert [each.raw for each in vocabulary(tmp_path).tokens.values()] == [None, b"s"]

    (tmp_path / "vocab.json").write_text('{"<s>": 0, "\u0120a": 1}')
    found = vocabulary(tmp_path / "model.safetensors")

    assert found.source == "vocab.json"
    assert [each.raw for each in found.tokens.values()] == [None, b" a"]


def test_no_tokenizer_is_no_trouble(tmp_path: Path) -> None:
    """A folder without a tokenizer has none, and nothing is said about it."""
    assert find_vocabulary(str(tmp_path)) == (None, None)


def test_the_byte_alphabet_is_complete() -> None:
    """Every byte has one character, and printable ASCII stands for itself."""
    assert sorted(byte_alphabet().values()) == list(range(256))
    assert from_byte_level("Az~") == b"Az~"
    assert from_byte_level("\u0120") == b" "
    assert from_byte_level("\u4e00") is None


@pytest.mark.parametrize(("content", "raw"), [("<0xZZ>", b"<0xZZ>"), ("<0x7F>", b"\x7f"), ("\u2581", b" ")])
def test_pieces_that_look_like_bytes(content: str, raw: bytes) -> None:
    """Only two hexadecimal digits make a byte."""
    assert from_pieces(content) == raw


class TestHostile:
    """Files that want to do harm, or do it by accident."""

    def test_halves_of_surrogate_pairs(self, tmp_path: Path) -> None:
        """JSON can write them, and UTF-8 cannot."""
        text = (
            '{"model": {"type": "WordPiece", "vocab": {"\\ud800a": 0}},'
            ' "added_tokens": [{"id": 1, "content": "\\udfffb", "special": false}]}'
        )
        (tmp_path / "tokenizer.json").write_text(text)
        found, trouble = find_vocabulary(str(tmp_path))

        assert trouble is None
        assert found is not None
        assert [found.tokens[each].raw for each in (0, 1)] == [b"?a", b"?b"]

    def test_a_file_name_stays_harmless(self, tmp_path: Path) -> None:
        """Terminal escapes and right-to-left overrides in it are escaped, in sources and in complaints."""
        (tmp_path / "x\x1b[31m\u202e.tiktoken").write_text("not base64\n")
        found, trouble = find_vocabulary(str(tmp_path))

        assert found is None
        assert trouble is not None
        assert trouble.isascii()
        assert trouble.isprintable()
        (tmp_path / "x\x1b[31m\u202e.tiktoken").write_text("YQ== 0\n")
        found, trouble = find_vocabulary(str(tmp_path))
        assert found is not None
        assert found.source == r"x\x1b[31m\u202e.tiktoken"

    def test_what_is_no_file_is_not_waited_for(self, tmp_path: Path) -> None:
        """A pipe with a tokenizer's name would never end."""
        os.mkfifo(tmp_path / "vocab.json")
        found, trouble = find_vocabulary(str(tmp_path))

        assert found is None
        assert trouble is not None
        assert "no regular file" in trouble


class TestAdded:
    """Tokens that were added beside the main file."""

    def test_they_are_no_rows_past_the_end(self, tmp_path: Path) -> None:
        """Both places of them are read, with what they say about special ones."""
        (tmp_path / "vocab.json").write_text('{"a": 0, "\u2581b": 1}', encoding="utf-8")
        (tmp_path / "added_tokens.json").write_text('{"<|im_start|>": 2, "word": 3}')
        (tmp_path / "tokenizer_config.json").write_text(
            '{"added_tokens_decoder": {"4": {"content": "<pad>", "special": true}}}'
        )
        found, trouble = find_vocabulary(str(tmp_path))

        assert trouble is None
        assert found is not None
        assert found.end == 5
        assert [found.tokens[each].raw for each in range(5)] == [b"a", b" b", None, b"word", None]

    @pytest.mark.parametrize("text", ["{", "[]", '{"added_tokens_decoder": {"x": {}}}'])
    def test_broken_ones_are_told(self, tmp_path: Path, text: str) -> None:
        """The main file still serves."""
        (tmp_path / "vocab.json").write_text('{"a": 0}')
        (tmp_path / "tokenizer_config.json").write_text(text)
        found, trouble = find_vocabulary(str(tmp_path))

        assert found is not None
        assert trouble is not None
        assert trouble.startswith("The tokenizer file tokenizer_config.json was not read")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"id2label": {"0": "cat", "1": "\\u001b[31mdog"}}', {0: "'cat'", 1: r"'\x1b[31mdog'"}),
        ('{"id2label": {"x": "cat"}}', {}),
        ('{"id2label": []}', {}),
        ("{", {}),
    ],
)
def test_labels(tmp_path: Path, text: str, expected: dict[int, str]) -> None:
    """Names of classes, escaped; none where there are none, or the file is broken."""
    (tmp_path / "config.json").write_text(text)
    assert find_labels(str(tmp_path / "model.safetensors")) == expected
