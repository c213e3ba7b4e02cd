# SPDX-License-Identifier: Apache-2.0
"""Words that promise a grade stand only where the grade is, and every word of the glossary is in use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.invariants.tree import ROOT, docstrings, listing, parsed, python_files, shown

# "done", "safe" and "success" claim an outcome; "verified" claims a grade.
PROMISES = re.compile(r"(?:^|_)(?:verified|done|safe|success|successful|succeeded)(?:_|$)")

# Names the seed documents give to values of closed sets, and the record of the fourth evidence level.
SEED_NAMES = {
    "VERIFIED",
    "NOT_VERIFIED",
    "VERIFIED_POSTCONDITION",
    "VerifiedPostcondition",
    "SUCCESS",
    "DONE",
}
# Terms of art, and one field of a seed document, each in the one file that may use it.
ALLOWED_NAMES = {
    "src/actum/model/evidence.py": {"verified"},  # the verifier's yes or no, beside what it observed
    "src/actum/model/canonical.py": {"MAX_SAFE_INTEGER"},  # the name RFC 8259 readers know it by
    "src/actum/evidence/dsse.py": {"_url_safe"},  # a base64 alphabet
}

# Sentences that say that something is not so, or that stand beside the grade they speak of. Each entry is a
# regular expression which is taken out of the text before it is searched.
ALLOWED_PHRASES = (
    r"\bnot (?:\w+ )?verified\b",
    r"\bnothing unverified was reported as done\b",
    r"\bnothing unverified\b",
    r"\bnot safely saved\b",
    r"\b(?:success (?:is|needs) )?finalized (?:\+|and) verified\b",
    r"\bnever (?:as )?verified\b",
    r"\bgraded verified,? from looks\b",
    r"\bsaid to be done, nothing executed\b",
)
TEXT = re.compile(
    r"\b(?:verified|done|safe|safely|success|successful|successfully|succeeded)\b", re.IGNORECASE
)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _defined(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each identifier the module introduces: functions, classes, parameters, variables, fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def test_no_identifier_promises_an_outcome() -> None:
    found = [
        f"{shown(path)}:{line} {name}"
        for path in python_files("src")
        for line, name in _defined(parsed(path))
        if name not in SEED_NAMES | ALLOWED_NAMES.get(shown(path), set()) and PROMISES.search(_snake(name))
    ]
    assert found == [], listing(found)


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """String constants that are no docstrings: what a person may come to read."""
    skipped = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def _promises(text: str) -> bool:
    for phrase in ALLOWED_PHRASES:
        text = re.sub(phrase, "", text, flags=re.IGNORECASE)
    return bool(TEXT.search(text))


def test_no_text_shown_to_a_person_promises_an_outcome() -> None:
    found = [
        f"{shown(path)}:{line} {text[:90]}"
        for path in python_files("src")
        for line, text in _texts(parsed(path))
        if " " in text.strip() and _promises(text)
    ]
    assert found == [], listing(found)


def test_the_search_for_promising_texts_finds_them() -> None:
    assert _promises("The file was safely written")
    assert _promises("All done, 3 effects")
    assert not _promises("It is not verified and stays so")


GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
WORDS = (
    "work item, turn, process, step, rung, decision, proposal, capability, executor, verifier, effect, "
    "descriptor, intent, grant, question, claim, assertion, attempt, execution, look, readback, witness, "
    "finality, confidence, executor_said, claimed, graded, receipt, settlement, evidence, candidate, policy, "
    "requirement, check, acceptance, judgment, rule, certification, promotion, binding, envelope, "
    "governance record, counterexample, lease, epoch, runner, dead letter, deadline, breach, reconcile, "
    "incarnation, checkpoint, log"
)


def test_every_word_of_the_design_is_in_the_glossary_once() -> None:
    defined = re.findall(r"^- \*\*(.+?)\*\*:", GLOSSARY.read_text(), flags=re.MULTILINE)
    assert sorted(set(WORDS.split(", ")) - set(defined)) == []
    assert len(defined) == len(set(defined))


def _source_text() -> str:
    return "\n".join(path.read_text() for path in python_files("src"))


def test_every_word_of_the_glossary_is_used_in_the_source() -> None:
    source = _snake(_source_text()).replace("_", " ")
    later = {
        "governance record",
        "counterexample",
        "promotion",
        "certification",
        "breach",
        "acceptance",
        "requirement",
    }
    defined = re.findall(r"^- \*\*(.+?)\*\*:", GLOSSARY.read_text(), flags=re.MULTILINE)
    unused = [w for w in defined if not re.search(rf"\b{w.replace('_', ' ')}", source) and w not in later]
    assert unused == [], listing(unused)


def test_every_spelling_of_the_glossary_names_a_field_of_a_record() -> None:
    pairs = re.findall(r"^\| `(\w+)` \| `(\w+)` \|$", GLOSSARY.read_text(), flags=re.MULTILINE)
    fields = {
        node.target.id
        for path in python_files("src/actum/model")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert len(pairs) >= 27
    assert [here for _, here in pairs if here not in fields] == []
