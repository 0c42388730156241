"""The pages: their links lead somewhere, and each piece of Python in them stands by itself."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import symtable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
SNIPPETS = [
    pytest.param(text, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, text in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Pages and pictures that a page links are there."""
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]

    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("text", SNIPPETS)
def test_a_snippet_knows_all_of_its_names(text: str) -> None:
    """What it uses it imports or makes itself, so that it can be copied alone."""
    table = symtable.symtable(text, "snippet", "exec")
    unknown = {name for name in _needed(table) if name not in dir(builtins)}
    known = {
        symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()
    }

    assert unknown - known == set()


def _needed(table: symtable.SymbolTable) -> set[str]:
    """Names that a scope and those inside it take from the module."""
    found = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module")
    }
    return found.union(*(_needed(child) for child in table.get_children()))


@pytest.mark.parametrize("text", SNIPPETS)
def test_what_a_snippet_imports_of_birthmark_is_there(text: str) -> None:
    """Names of modules and of what is taken from them are today's."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("birthmark"):
            continue
        if (node.module or "").startswith("birthmark.torch"):
            pytest.importorskip("torch", reason="this snippet is about PyTorch, which is not installed")
        module = importlib.import_module(node.module or "")
        for alias in node.names:
            if not hasattr(module, alias.name):  # then it is a module of its own
                importlib.import_module(f"{node.module}.{alias.name}")
