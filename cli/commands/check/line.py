"""By which line of the operator a run judges, and how it knows."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from ....api.line import NEAREST, is_beyond
from ....policies.facts import UNKNOWN, Facts
from ...project.apply import Target, Targets
from .result import DEFAULT, JudgedBy


def explain_lines(arguments: argparse.Namespace, targets: Targets, files: Iterable[str], fill: Callable[[Facts], Facts]) -> list[JudgedBy]:
    """The lines that files were judged by, each with its sources; `fill` adds facts of a live cluster."""
    used = {target.cluster: target for target in map(targets.of, files)} or {"": targets.usual}
    told: dict[str, list[str]] = {}
    for _, target in sorted(used.items()):
        known = fill(target.facts)
        line = known.line
        near = f"; rules of line {NEAREST[line]}, the nearest" if line in NEAREST else ""
        told.setdefault(str(line), []).append(_told(arguments, target, known) + near)
    return [JudgedBy(line, ", ".join(dict.fromkeys(sources))) for line, sources in sorted(told.items())]


def _told(arguments: argparse.Namespace, target: Target, known: Facts) -> str:
    given = target.facts
    if arguments.line is not None and "line" not in arguments.laid:
        return "--line"
    if target.cluster:
        return f"cluster {target.cluster}"
    if arguments.line is not None:
        return "the project file"
    if known.operatorLine is not UNKNOWN:
        return "the fact operatorLine" if given.operatorLine is not UNKNOWN else "the cluster's definitions"
    if known.operatorVersion is UNKNOWN:
        return DEFAULT
    return f"operatorVersion {known.operatorVersion}" + (
        "; later lines count as the newest known" if is_beyond(known.operatorVersion) else ""
    )
