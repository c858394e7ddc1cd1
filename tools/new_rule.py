"""Writes the file of a new rule with its headings and the next free code (`make new-rule NAME=graph/my-wrong-thing`)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

_POLICIES: Final = Path(__file__).resolve().parent.parent / "policies"
# folder -> first code of its block, how the selector is spelled, and a stage to start from
_FOLDERS: Final = {
    "graph": (101, "GRAPH", "SHAPE"),
    "component": (201, "COMPONENT", "COMPONENT"),
    "checkpoint": (421, "CHECKPOINT", "CHECKPOINT"),
    "request": (501, "REQUEST", "REQUEST"),
    "model": (551, "MODEL", "MODEL"),
}

TEMPLATE: Final = '''"""{code}: what it is about."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import {where}, Difference, Hits, rule


@rule("{code}", where={where}, when="someField", stage=Stage.{stage}, current_only=Difference((), "why 1.2 does without it"))
def {function}(at: At) -> Hits:
    """What is wrong, as a sentence.

    Why
        What goes wrong later when this is allowed.

    Fix
        What to write instead.

    Bad
        ```yaml
        spec: {{someField: wrong}}  # expect
        ```

    Good
        ```yaml
        spec: {{someField: right}}
        ```
    """
    if at.value["someField"] == "wrong":
        yield at.invalid("someField", at.value["someField"], 'must be "right"')
'''


def main(arguments: list[str]) -> int:
    """Writes policies/<folder>/<name>.py and appends code and name to released.txt; returns the exit code."""
    folder, _, name = (arguments[0] if arguments else "").partition("/")
    if folder not in _FOLDERS or not name.replace("-", "").isalnum() or not name.islower():
        print(f"NAME must be <folder>/<kebab-case-name>, folder one of {', '.join(_FOLDERS)}", file=sys.stderr)
        return 2
    first, where, stage = _FOLDERS[folder]
    released = _POLICIES / "released.txt"
    taken = {line.split()[0] for line in released.read_text("utf-8").splitlines()}
    code = next(text for number in range(first, 1000) if (text := f"DYN{number:03d}") not in taken)
    function = name.replace("-", "_")
    file = _POLICIES / folder / f"{function}.py"
    if file.exists():
        print(f"{file} is there already", file=sys.stderr)
        return 2
    file.write_text(TEMPLATE.format(code=code, where=where, stage=stage, function=function), "utf-8")
    with released.open("a", encoding="utf-8") as out:
        out.write(f"{code} {name}\n")
    print(f"wrote {file}; write it, then run make generate, and pytest tests/policies/test_examples.py -k {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
