"""Writes `manifests/crds/*.yaml` and those of line 1.5 beside it, one CustomResourceDefinition a file; `--check` fails when one is stale.

The same definitions are printed by the command `crds`. The policy that guards them is written into the chart; kustomize takes that file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from dynamo_webhooks.api.crd_manifest import by_service
from dynamo_webhooks.api.definition_guard import binding, policy
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.crds import definitions
from dynamo_webhooks.cli.rewrite.fresh import yaml_text

FOLDER: Final = Path(__file__).resolve().parent.parent / "manifests" / "crds"
FOLDERS: Final = {Line.V1_2: FOLDER, Line.V1_5: FOLDER.with_name("crds-1.5")}
GUARD: Final = FOLDER.parent / "chart" / "guard" / "policy.yaml"
HEADER: Final = "# Written by `make generate` (dynamo-webhooks crds) from the models in api/models; edit those, not this file.\n"
GUARD_HEADER: Final = "# Written by `make generate` from api/definition_guard.py; edit that, not this file.\n"


def wanted(line: Line = Line.V1_2) -> dict[str, str]:
    """The texts of a line's files by name: every kind, converted by the service of the default names, its bundle left to be filled in."""
    made = definitions([kind.name for kind in KINDS], by_service(), line)
    return {f"{crd['spec']['names']['plural']}.yaml": HEADER + yaml_text(crd) for crd in made}


def guard() -> str:
    """The text of the policy and its binding, for the default names."""
    return GUARD_HEADER + "---\n".join(yaml_text(each) for each in (policy(), binding()))


def stale() -> list[str]:
    """The files that are missing, differ, or should not exist, below manifests."""
    wrong = set()
    for line, folder in FOLDERS.items():
        texts = wanted(line)
        wrong |= {folder / name for name, text in texts.items() if not _holds(folder / name, text)}
        wrong |= {file for file in folder.glob("*") if file.name not in texts}
    return sorted(str(file.relative_to(FOLDER.parent)) for file in wrong)


def _holds(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text("utf-8") == text


def main(arguments: list[str]) -> int:
    """Writes the files and removes strangers, or with `--check` names the stale ones; returns the exit code."""
    if "--check" in arguments:
        wrong = stale()
        if wrong:
            print(f"stale in manifests: {', '.join(wrong)}; run make generate", file=sys.stderr)
        if not (guarded := _holds(GUARD, guard())):
            print("stale in manifests/chart/guard: policy.yaml; run make generate", file=sys.stderr)
        return 1 if wrong or not guarded else 0
    for line, folder in FOLDERS.items():
        folder.mkdir(parents=True, exist_ok=True)
        texts = wanted(line)
        for file in folder.glob("*"):
            if file.name not in texts:
                file.unlink()
        for name, text in texts.items():
            (folder / name).write_text(text, "utf-8")
    GUARD.write_text(guard(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
