"""Detects the inference framework of a component: from its command, or from the object."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dynamo_webhooks.reconciler.render.errors import RenderError
from dynamo_webhooks.reconciler.render.names import MAIN, WORKERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.conversion.lens.protocol import Fields

VLLM: Final = "vllm"
SGLANG: Final = "sglang"
TRTLLM: Final = "trtllm"
NONE: Final = ""  # no flags, no variables, unchanged probes

# separate expressions, so that long lines take linear time
_INTERPRETER: Final = re.compile(r"python[0-9.]*")
_MODULE: Final = re.compile(r"\s-m(?=\s|dynamo\.)")
_NAMED: Final = {framework: re.compile(rf"(?:\b|(?<=\s-m))dynamo\.{framework}\b") for framework in (VLLM, SGLANG, TRTLLM)}
SEPARATORS: Final = re.compile(r"([|&;])")  # separators of a shell line's commands


def main_of(component: Fields) -> Fields:
    """The main container as the user wrote it, or an empty one."""
    spec = (component.get("podTemplate") or {}).get("spec") or {}
    return next((one for one in spec.get("containers") or () if one and one.get("name") == MAIN), {})


def path_of_main(component: Fields, path: Path) -> Path:
    """The path of that container in a component, or of its list."""
    containers = ((component.get("podTemplate") or {}).get("spec") or {}).get("containers") or ()
    index = next((index for index, one in enumerate(containers) if one and one.get("name") == MAIN), None)
    return (*path, "podTemplate", "spec", "containers", *(() if index is None else (index,)))


def command_line(container: Fields) -> str:
    """Command and arguments as one text."""
    return " ".join(str(one) for one in (*(container.get("command") or ()), *(container.get("args") or ())))


def detected(component: Fields) -> list[str]:
    """The frameworks that a worker's command calls; none for other types."""
    if component.get("type") not in WORKERS:
        return []
    commands = SEPARATORS.split(command_line(main_of(component)))
    return [framework for framework in _NAMED if any(_calls(command, framework) for command in commands)]


def _calls(command: str, framework: str) -> bool:
    """Whether a command is a Python interpreter, then -m, then the framework's module."""
    python = _INTERPRETER.search(command)
    module = _MODULE.search(command, python.end()) if python else None
    return module is not None and _NAMED[framework].search(command, module.end()) is not None


def framework_of(component: Fields, said: str, path: Path) -> str:
    """The framework of one component.

    Raises: RenderError if the command contradicts the object, or calls several and the object has none.
    """
    if component.get("type") not in WORKERS:
        return NONE
    found = detected(component)
    if len(found) == 1 and said and found[0] != said:
        raise RenderError(path, f'must run what backendFramework says, "{said}"; its command calls dynamo.{found[0]}')
    if len(found) > 1 and not said:
        raise RenderError(path, f"must run one framework, its command calls {' and '.join(found)}; say in backendFramework which counts")
    return said or (found[0] if found else NONE)


def framework_of_graph(components: Iterable[Fields], said: str, path: Path) -> str:
    """The framework of a graph: its own, else its workers'.

    Raises: RenderError if the workers run different ones.
    """
    if said:
        return said
    found = sorted({framework for component in components for framework in [framework_of(component, "", path)] if framework})
    if len(found) > 1:
        raise RenderError(path, f"must be one framework for all workers, found {' and '.join(found)}; say which one, or split the graph")
    return found[0] if found else NONE
