"""Writes `manifests/crds/*.yaml`, one CustomResourceDefinition a file; `--check` fails when one is stale.

The same definitions are printed by the command `crds`. The policy that guards them is written into the chart; kustomize takes that file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from dynamo_webhooks.api.crd_manifest import by_service
from dynamo_webhooks.api.definition_guard import binding, policy
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.cli.commands.crds import definitions
from dynamo_webhooks.cli.rewrite.fresh import yaml_text

FOLDER: Final = Path(__file__).resolve().parent.parent / "manifests" / "crds"
GUARD: Final = FOLDER.parent / "chart" / "guard" / "policy.yaml"
HEADER: Final = "# Written by `make generate` (dynamo-webhooks crds) from the models in api/models; edit those, not this file.\n"
GUARD_HEADER: Final = "# Written by `make generate` from api/definition_guard.py; edit that, not this file.\n"


def wanted() -> dict[str, str]:
    """The files by name, with their texts: every kind, converted by the service of the default names, its bundle left to be filled in."""
    return {f"{crd['spec']['names']['plural']}.yaml": HEADER + yaml_text(crd) for crd in definitions([k.name for k in KINDS], by_service())}


def guard() -> str:
    """The text of the policy and its binding, for the default names."""
    return GUARD_HEADER + "---\n".join(yaml_text(each) for each in (policy(), binding()))


def stale() -> list[str]:
    """The names of the files that are missing, differ, or should not exist."""
    texts = wanted()
    wrong = [name for name, text in texts.items() if not _holds(FOLDER / name, text)]
    return sorted({*wrong, *(file.name for file in FOLDER.glob("*") if file.name not in texts)})


def _holds(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text("utf-8") == text


def main(arguments: list[str]) -> int:
    """Writes the files and removes strangers, or with `--check` names the stale ones; returns the exit code."""
    if "--check" in arguments:
        wrong = stale()
        if wrong:
            print(f"stale in manifests/crds: {', '.join(wrong)}; run make generate", file=sys.stderr)
        if not (guarded := _holds(GUARD, guard())):
            print("stale in manifests/chart/guard: policy.yaml; run make generate", file=sys.stderr)
        return 1 if wrong or not guarded else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    texts = wanted()
    for file in FOLDER.glob("*"):
        if file.name not in texts:
            file.unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text, "utf-8")
    GUARD.write_text(guard(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
