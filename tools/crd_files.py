"""Writes `manifests/crds/LINE/*.yaml`, a definition a file; `--check` fails when one is stale.

The same definitions are printed by the command `crds`. The policy that guards them is written into the chart; kustomize takes that file.
"""

import sys
from typing import Final

from dynamo_webhooks.api.crd import by_service
from dynamo_webhooks.api.definition_guard import binding, policy
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.cli.commands.crds import make_definitions
from dynamo_webhooks.cli.rewrite.emit import emit_yaml
from tools.written import ROOT, update

# of lines 1.3 and 1.4, that no manifest installs, the command `crds` prints the definitions
FOLDERS: Final = {line: ROOT / "manifests" / "crds" / line for line in (Line.V1_2, Line.V1_5, Line.V1_6)}
GUARD: Final = ROOT / "manifests" / "chart" / "guard" / "policy.yaml"
HEADER: Final = "# Written by `make generate` (dynamo-webhooks crds) from the models in api/models; edit those, not this file.\n"
GUARD_HEADER: Final = "# Written by `make generate` from api/definition_guard.py; edit that, not this file.\n"


def render_files(line: Line) -> dict[str, str]:
    """The texts of a line's files by name: every kind, converted by the service of the default names, its bundle left to be filled in."""
    made = make_definitions([kind.name for kind in KINDS], by_service(), line)
    return {f"{crd['spec']['names']['plural']}.yaml": HEADER + emit_yaml(crd) for crd in made}


def main(arguments: list[str]) -> int:
    """Writes the files and removes strangers, or with `--check` names the stale ones; returns the exit code."""
    texts = {folder / name: text for line, folder in FOLDERS.items() for name, text in render_files(line).items()}
    texts[GUARD] = GUARD_HEADER + "---\n".join(emit_yaml(each) for each in (policy(), binding()))
    wanted = {file: text.encode() for file, text in texts.items()}
    return update(wanted, arguments, (file for folder in FOLDERS.values() for file in folder.glob("*")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
