"""Starts a new rule with its headings and the next free code in the file of its theme (`make new-rule NAME=graph/my-wrong-thing`)."""

import sys
from pathlib import Path
from typing import Final

from dynamo_webhooks.policies.catalogue import OTHERS

_POLICIES: Final = Path(__file__).resolve().parent.parent / "policies"
# folder -> first code of its block, how the selector is spelled, and a stage to start from
_FOLDERS: Final = {
    "graph": (101, "GRAPH", "SHAPE"),
    "component": (201, "COMPONENT", "COMPONENT"),
    "checkpoint": (421, "CHECKPOINT", "CHECKPOINT"),
    "request": (501, "REQUEST", "REQUEST"),
    "model": (551, "MODEL", "MODEL"),
}

IMPORTS: Final = """from ..at import At
from ..rule import {where}, Hits, Stage, rule
"""
TEMPLATE: Final = '''

@rule("{code}", where={where}, when="someField", stage=Stage.{stage})
def {function}(at: At) -> Hits:
    """The mistake, as a sentence.

    Why
        The failure that this prevents.

    Fix
        The value to write instead.

    Example
    bad spec: {{someField: wrong}}  # expect
    ok  spec: {{someField: right}}
    """
    if at.value["someField"] == "wrong":
        yield at.invalid("someField", at.value["someField"], 'must be "right"')
'''


def find_theme(folder: Path, name: str) -> Path:
    """The file whose name is the longest beginning of the rule's name in whole words; that of the others if there is none."""
    themes = [file for file in folder.glob("[a-z]*.py") if f"{name}_".startswith(f"{file.stem}_")]
    return max(themes, key=lambda file: len(file.stem), default=folder / f"{OTHERS}.py")


def main(arguments: list[str]) -> int:
    """Adds the rule to a file of policies/<folder>/, and code and name to released.txt; returns the exit code."""
    folder, _, name = (arguments[0] if arguments else "").partition("/")
    if folder not in _FOLDERS or not name.replace("-", "").isalnum() or not name.islower():
        print(f"NAME must be <folder>/<kebab-case-name>, folder one of {', '.join(_FOLDERS)}", file=sys.stderr)
        return 2
    first, where, stage = _FOLDERS[folder]
    released = _POLICIES / "released.txt"
    taken = dict(line.split() for line in released.read_text("utf-8").splitlines())
    if name in taken.values():
        print(f"{name} is released already", file=sys.stderr)
        return 2
    code = next(text for number in range(first, 1000) if (text := f"DYN{number:03d}") not in taken)
    function = name.replace("-", "_")
    file = find_theme(_POLICIES / folder, function)
    theme = file.read_text("utf-8") if file.exists() else '"""Rules that share no theme."""\n\n'
    head, future, rest = theme.rpartition("from __future__ import annotations\n\n")
    if not future:
        head, future, rest = theme.partition("\n\n")
    rule = TEMPLATE.format(code=code, where=where, stage=stage, function=function)
    file.write_text(head + future + IMPORTS.format(where=where) + rest + rule, "utf-8")
    with released.open("a", encoding="utf-8") as out:
        out.write(f"{code} {name}\n")
    print(f"{file}: write {name}, then run make format generate, and pytest tests/policies/test_examples.py -k {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
