"""Starts a new rule with its headings and the next free code in the file of its theme (`make new-rule NAME=graph/my-wrong-thing`)."""

import re
import subprocess
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

HEAD: Final = '"""Rules about {theme}."""\n\n'
IMPORTS: Final = "from ..at import At\nfrom ..rule import {where}, Hits, Stage, differs, rule\n"
TEMPLATE: Final = '''

@differs((), "why it is refused here", lacking=True)
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


def find_theme(folder: Path, name: str) -> Path | None:
    """The file whose name is the longest beginning of the rule's name in whole words; None if there is none."""
    themes = [file for file in folder.glob("[a-z]*.py") if f"{name}_".startswith(f"{file.stem}_")]
    return max(themes, key=lambda file: len(file.stem), default=None)


def start_theme(folder: Path, name: str) -> Path:
    """A new file with the rule's name but for its last word, which says the mistake."""
    stem = name.rpartition("_")[0] or name
    file = folder / f"{stem}.py"
    file.write_text(HEAD.format(theme=stem.replace("_", " ")), "utf-8")
    others = folder / f"{OTHERS}.py"
    alike = re.findall(rf"^def ({stem}_\w+)", others.read_text("utf-8"), re.MULTILINE) if others.exists() else []
    print(f"{file} is new: its first line must name the theme of its rules", *(f"; move {name} there" for name in alike), sep="")
    return file


def main(arguments: list[str]) -> int:
    """Adds the rule to a file of policies/<folder>/, and code and name to codes.txt; returns the exit code."""
    folder, _, name = (arguments[0] if arguments else "").partition("/")
    if folder not in _FOLDERS or not name.replace("-", "").isalnum() or not name.islower():
        print(f"NAME must be <folder>/<kebab-case-name>, folder one of {', '.join(_FOLDERS)}", file=sys.stderr)
        return 2
    first, where, stage = _FOLDERS[folder]
    codes = _POLICIES / "codes.txt"
    taken = dict(line.split() for line in codes.read_text("utf-8").splitlines())
    if name in taken.values():
        print(f"{name} is taken already", file=sys.stderr)
        return 2
    code = next(text for number in range(first, 1000) if (text := f"DYN{number:03d}") not in taken)
    function = name.replace("-", "_")
    file = find_theme(_POLICIES / folder, function) or start_theme(_POLICIES / folder, function)
    theme = file.read_text("utf-8")
    head, future, rest = theme.rpartition("from __future__ import annotations\n\n")
    if not future:
        head, future, rest = theme.partition("\n\n")
    rule = TEMPLATE.format(code=code, where=where, stage=stage, function=function)
    file.write_text(head + future + IMPORTS.format(where=where) + rest + rule, "utf-8")
    with codes.open("a", encoding="utf-8") as out:
        out.write(f"{code} {name}\n")
    for command in (["check", "--fix"], ["format"]):  # puts the imports where they belong
        subprocess.run([sys.executable, "-m", "ruff", *command, "--quiet", file], check=False)  # noqa: S603 - words of this file
    print(f"{file}: write {name}; instead of @differs, since= names the line whose operator has it. CONTRIBUTING.md has the next steps")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
