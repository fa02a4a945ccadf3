"""A text that is almost a program is refused by one sentence, or is another program: no stage of the compiler ends in a crash."""

from __future__ import annotations

import random
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

TEXTS = {path.stem: path.read_text() for path in sorted(Path(__file__).parent.glob("*.fr"))}
TOOL = Path(__file__).resolve().parents[2] / "build" / "release" / "ferrule-opt"
TOKEN = re.compile(r"[%$]?[A-Za-z_0-9][\w.]*|\s+|.")
WORDS = [
    "0", "-1", "9223372036854775807", "18446744073709551616", "%0", "%99", "$0", "$9", "f32", "b1", "u64", "weak", "view",
    "load", "store", "reduce", "sum", "add", "sqrt", "select", "cast", "body", "for", "if", "result", "symbol", "guard",
    "{", "}", "(", "[", ":", ",", "=", '"', "*", "//", "é",
]  # fmt: skip


def mutated(rng: random.Random, text: str) -> str:
    """One to three changes: tokens replaced or exchanged, lines dropped, doubled or moved, an end cut off."""
    for _ in range(rng.randint(1, 3)):
        tokens, lines = TOKEN.findall(text), text.split("\n")
        at, line = rng.randrange(len(tokens)), rng.randrange(len(lines))
        match rng.randrange(7):
            case 0 | 1:
                tokens[at] = rng.choice(WORDS)
                text = "".join(tokens)
            case 2 | 3:
                same = [k for k, token in enumerate(tokens) if token[0] == tokens[at][0]]
                other = rng.choice(same)
                tokens[at], tokens[other] = tokens[other], tokens[at]
                text = "".join(tokens)
            case 4:
                text = "\n".join(lines[:line] + lines[line + 1 :])
            case 5:
                lines.insert(rng.randrange(len(lines)), lines[line])
                text = "\n".join(lines)
            case _:
                text = text[: rng.randrange(len(text))] or "fr"
    return text


def compile_text(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(TOOL), "-"], input=text, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("name", TEXTS)
def test_is_refused_or_compiled(name):
    rng = random.Random(name)
    texts = [mutated(rng, TEXTS[name]) for _ in range(60)]
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(compile_text, texts))
    for text, outcome in zip(texts, outcomes, strict=True):
        assert outcome.returncode in (0, 1), text
        if outcome.returncode:
            assert re.fullmatch(r"ferrule-opt: [^\n]+\n", outcome.stderr), text
    assert any(outcome.returncode for outcome in outcomes)
