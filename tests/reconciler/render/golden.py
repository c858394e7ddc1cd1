"""Golden renders: `cases/NAME.yaml` is an object with settings, `cases/NAME.expected.yaml` what is made of it.

`python -m tests.reconciler.render.golden` writes the expected files anew: read what changes, since every change of a pod restarts it.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from dynamo_webhooks.api.operator import controllers, features
from dynamo_webhooks.cli.rewrite.emit import emit_yaml
from dynamo_webhooks.reconciler.render.children import RenderedChildren
from dynamo_webhooks.reconciler.render.settings import CheckpointSettings
from tests.reconciler.rendering import rendered

FOLDER: Final = Path(__file__).with_name("cases")
_HASH_LABEL: Final = "nvidia.com/dynamo-worker-hash"
_RECORDS: Final[dict[str, Callable[..., object]]] = {
    "infrastructure": controllers.Infrastructure,
    "ingress": controllers.Ingress,
    "mesh": controllers.Istio,
    "checkpoints": lambda pvc: CheckpointSettings(pvc=features.Pvc(**pvc)),
}


class Case(NamedTuple):
    """One case: what it is rendered with, and which kinds are of interest (all, when none is named)."""

    name: str
    object: dict[str, Any]
    settings: dict[str, Any]
    only: list[str]

    @property
    def expected(self) -> Path:
        """Where the expected children lie."""
        return FOLDER / f"{self.name}.expected.yaml"


def load_case(name: str) -> Case:
    """Reads a case."""
    data = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    values = {key: _RECORDS[key](**value) if key in _RECORDS else value for key, value in data["settings"].items()}
    return Case(name, data["object"], values, data["only"])


def names() -> list[str]:
    """All cases."""
    return sorted(file.stem for file in FOLDER.glob("*.yaml") if not file.stem.endswith(".expected"))


def render_case(case: Case) -> RenderedChildren:
    """All children of a case's object."""
    return rendered(case.object, **case.settings)


def text_of(case: Case) -> str:
    """The children of interest as YAML, with the generation of workers as a constant."""
    chosen = [child for child in render_case(case).children if not case.only or child["kind"] in case.only]
    hashes = {(child["metadata"].get("labels") or {}).get(_HASH_LABEL) for child in chosen} - {None}
    text = json.dumps(chosen)
    for generation in hashes:
        text = text.replace(str(generation), "HASH")
    return "".join(f"---\n{emit_yaml(child)}" for child in json.loads(text))


def main() -> None:
    """Writes the expected files."""
    for name in names():
        case = load_case(name)
        case.expected.write_text(text_of(case))


if __name__ == "__main__":
    main()
