"""Starts a new rule with its headings and the next free code in the file of its theme."""

import subprocess
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

HEAD: Final = '"""Rules about {theme}."""\n\n'
IMPORTS: Final = "from ..at import At, Findings\nfrom ..rule import {where}, Stage, differs, rule\n"
TEMPLATE: Final = '''

@differs("what goes wrong without the rule", lacking=True)
@rule("{code}", where={where}, when="someField", stage=Stage.{stage})
def {function}(at: At) -> Findings:
    """The mistake, as a sentence.

    Why
        The failure that this prevents.

    Fix
        The value to write instead.

    Example
        -spec: {{someField: wrong}}  # expect
        +spec: {{someField: right}}
    """
    if at.value["someField"] == "wrong":
        yield {finding}
'''
REFUSES: Final = """at.invalid("someField", at.value["someField"], 'must be "right"')"""
WARNS: Final = """at.warning("someField", 'must be "right"')"""


def main(arguments: list[str]) -> int:
    """Adds the rule to policies/<FILE>.py, and code and name to codes.txt; returns the exit code."""
    place, name = arguments if len(arguments) == 2 else ("", "")
    folder, _, theme = place.partition("/")
    if folder not in _FOLDERS or not theme.isidentifier() or not name.replace("-", "").isalnum() or not name.islower():
        print(f"FILE must be <folder>/<theme>, folder one of {', '.join(_FOLDERS)}; NAME must be in kebab case", file=sys.stderr)
        return 2
    first, where, stage = _FOLDERS[folder]
    finding = REFUSES
    if name.startswith("warn-"):
        first, stage, finding = 901, "ADVICE", WARNS
    codes = _POLICIES / "codes.txt"
    taken = dict(line.split() for line in codes.read_text("utf-8").splitlines())
    if name in taken.values():
        print(f"{name} is taken already", file=sys.stderr)
        return 2
    code = next(text for number in range(first, 1000) if (text := f"DYN{number:03d}") not in taken)
    file = _POLICIES / folder / f"{theme}.py"
    if not file.exists():
        file.write_text(HEAD.format(theme=theme.replace("_", " ")), "utf-8")
        print(f"{file} is new: its first line must name the theme of its rules")
    head, _, rest = file.read_text("utf-8").partition("\n\n")
    rule = TEMPLATE.format(code=code, where=where, stage=stage, function=name.replace("-", "_"), finding=finding)
    file.write_text(f"{head}\n\n{IMPORTS.format(where=where)}{rest}{rule}", "utf-8")
    with codes.open("a", encoding="utf-8") as out:
        out.write(f"{code} {name}\n")
    for command in (["check", "--fix"], ["format"]):  # puts the imports where they belong
        subprocess.run([sys.executable, "-m", "ruff", *command, "--quiet", file], check=False)  # noqa: S603 - words of this file
    print(f"{file}: write {name}; instead of @differs, since= names the operator release that has it. CONTRIBUTING.md has the next steps")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
