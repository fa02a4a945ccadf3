"""The documentation is true where a machine can tell: its Python and shell blocks run, its links resolve, its table is new.

A block that cannot run here says so behind its language: ```python skip.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<code>.*?)^```[ \t]*$", re.M | re.S)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")


def pages() -> list[Path]:
    """Every Markdown file under version control, or new and not ignored."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in names.splitlines() if (ROOT / name).exists()]


PAGES = pages()
DOCS = [page for page in PAGES if page.parent == ROOT or ROOT / "docs" in page.parents]


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, what stands behind it, its text and the line that it begins in."""

    language: str
    mark: str
    code: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    found = []
    for match in BLOCK.finditer(text):
        language, _, mark = match["info"].strip().partition(" ")
        found.append(Block(language, mark.strip(), match["code"], text.count("\n", 0, match.start("code"))))
    return found


def pages_with(language: str) -> list[Path]:
    return [page for page in DOCS if any(b.language == language and b.mark != "skip" for b in blocks(page))]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def run(command: list[str], cwd: Path) -> None:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize("page", pages_with("python"), ids=name)
def test_python_blocks_run(page, tmp_path):
    """The blocks of a page run as one file, each at its own lines, so that a failure names the line of the page."""
    lines: list[str] = []
    for block in blocks(page):
        if block.language == "python" and block.mark != "skip":
            lines += [""] * (block.line - len(lines)) + block.code.splitlines()
    script = tmp_path / f"{page.stem.replace('-', '_')}.py"
    script.write_text("\n".join(lines) + "\n")
    run([sys.executable, "-W", "error", str(script)], tmp_path)


SHELL = [page for page in pages_with("sh") if page.parent == ROOT / "docs" / "internals"]


@pytest.mark.parametrize("page", SHELL, ids=name)
def test_shell_blocks_run(page):
    """Commands of the pages about the inside run from the project's root."""
    code = "\n".join(b.code for b in blocks(page) if b.language == "sh" and b.mark != "skip")
    run(["bash", "-euo", "pipefail", "-c", code], ROOT)


def test_blocks_are_marked_as_known():
    marks = {(name(page), b.mark) for page in PAGES for b in blocks(page) if b.mark not in ("", "skip")}
    assert marks == set()


def anchors(page: Path) -> set[str]:
    """Names of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+)$", BLOCK.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def table_rows(page: Path) -> list[list[str]]:
    """The lines of each table, its head and rule included."""
    lines = BLOCK.sub("", page.read_text()).splitlines()
    return [
        list(rows)
        for is_table, rows in itertools.groupby(lines, lambda line: line.lstrip().startswith("|"))
        if is_table
    ]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pages_begin_with_a_heading_and_tables_have_whole_rows(page):
    """What a formatter for another language leaves of a page has neither."""
    assert page.read_text().startswith("# ")
    for rows in table_rows(page):
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {rows[0].count("|")}, rows[0]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_relative_links_resolve(page):
    broken = []
    for match in LINK.finditer(BLOCK.sub("", page.read_text())):
        target = match["target"]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        if not linked.exists() or (anchor and anchor not in anchors(linked)):
            broken.append(target)
    assert broken == []


def test_paths_in_code_exist():
    """`src/...`, `tests/...` and the like in the pages of docs/internals name what is there."""
    missing = []
    for page in DOCS:
        for path in re.findall(
            r"`((?:src|tests|include|python|tools|bench|docs)/[\w./*-]+)`", page.read_text()
        ):
            if not any(ROOT.glob(path.rstrip("/"))):
                missing.append((name(page), path))
    assert missing == []


def test_files_that_readmes_name_exist():
    """`plan.h` and the like: beside the README, or wherever the project has a file of that name."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    elsewhere = {"source.cpp", "test_dlpack.py"}  # in a store, in the suite of the array API standard
    known = elsewhere | {Path(each).name for each in names}
    missing = []
    for page in [ROOT / "HACKING.md", *(page for page in PAGES if page.name == "README.md")]:
        for path in re.findall(r"`([\w/.-]+\.(?:h|cpp|c|py|def|fr))`", page.read_text()):
            if Path(path).name not in known:
                missing.append((name(page), path))
    assert missing == []


def test_stages_in_hacking_exist():
    from ferrule import _compiler

    known = {*_compiler.stage_names(), "all"}
    text = "".join(page.read_text() for page in PAGES)
    stages = re.findall(r'ir\("(\w+)"\)', text)
    for listed in re.findall(r"FERRULE_(?:DUMP|PASSES_OFF)=([\w,]+)", text):
        stages += listed.split(",")
    assert {stage for stage in stages if len(stage) > 1} <= known


def test_the_table_of_operations_is_up_to_date():
    run([sys.executable, str(ROOT / "tools" / "gen_ops_doc.py"), "--check"], ROOT)


@pytest.mark.parametrize("folder", ["python/ferrule", "python/ferrule/capture"])
def test_the_modules_of_a_package_are_all_described(folder):
    text = (ROOT / folder / "README.md").read_text()
    modules = {path.name for path in (ROOT / folder).glob("*.py")} - {"__init__.py"}
    assert {module for module in modules if f"`{module}`" not in text} == set()


def test_the_options_of_a_program_are_all_described():
    import ferrule

    described = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "functions.md").read_text(), re.M)
    options = set(ferrule.program.__kwdefaults__) - {"autotune"}  # that one is refused
    assert set(described) == options and len(described) == len(options)


def test_the_exceptions_are_all_described():
    import ferrule

    page = (ROOT / "docs" / "functions.md").read_text()
    described = re.findall(
        r"`(?:fr\.)?(\w+)`", page[page.index("## Errors") : page.index("## Programs without")]
    )
    assert {*ferrule.errors.__all__, "errors"} == {*described}


def test_the_functions_that_capture_knows_are_all_described():
    from ferrule import _compiler
    from ferrule.capture import table

    page = (ROOT / "docs" / "functions.md").read_text()
    described = re.findall(r"`(\w+)`", page[page.index("* made anew") : page.index("Everything else")])
    operations = {name for op in (*_compiler.element_ops(), *_compiler.reduce_ops()) for name in op.numpy}
    tables = (table._ALWAYS, table._FUNCTIONS, table._REDUCTIONS, table._SUBSCRIPTED)
    known = {name for names in tables for name in names} - (operations - {"clip", "where"})
    assert sorted(described) == sorted(known)


def test_the_folders_of_src_are_all_described():
    text = (ROOT / "src" / "README.md").read_text()
    folders = {path.parent.name for path in (ROOT / "src").glob("*/*.cpp")}
    assert {folder for folder in folders if f"**[{folder}](" not in text} == set()


@pytest.mark.parametrize("module", ["ferrule.api", "ferrule.dtypes", "ferrule.ir"])
def test_examples_in_docstrings_run(module):
    import doctest
    import importlib

    import numpy as np

    loaded = importlib.import_module(module)
    done = doctest.testmod(loaded, extraglobs={"np": np})
    assert done.attempted > 0 and done.failed == 0


def test_every_module_with_examples_is_run():
    listed = {"api", "dtypes", "ir"}
    package = ROOT / "python" / "ferrule"
    assert {path.stem for path in package.rglob("*.py") if ">>> " in path.read_text()} == listed
