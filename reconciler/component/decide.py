"""Decides the changes of one pass over a component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..checkpoint.restore_condition import COLD
from ..common.applied_diff import digest
from ..common.problems import Problem, problem_of_render
from ..render.children import direct_children
from ..render.objects import annotate
from ..render.service import is_model_service
from ..render.without_effect import Note
from ..workload.pull_secrets import render_with_secrets
from .observe import Seen, is_of_a_graph


class Plan(NamedTuple):
    """The changes of one pass."""

    children: Sequence[Any] = ()  # to apply, in order
    kept: frozenset[str] = frozenset()  # names of children that are not pruned
    problems: Sequence[Problem] = ()
    notes: Sequence[Note] = ()  # fields without effect

    @property
    def wanted(self) -> set[tuple[str, str]]:
        """Kinds and names of the children that are not pruned, either."""
        return {(child["kind"], child["metadata"]["name"]) for child in self.children}


def decide(seen: Seen) -> Plan:
    """Plan the children of a component."""
    obj, choice, problems = seen.component, seen.choice, list[Problem]()
    name, observed = obj["metadata"]["name"], seen.observed
    if choice.restore is not None:
        observed = observed._replace(restores={name: choice.restore})
    if choice.waits:
        observed = observed._replace(waits=frozenset({name}))
    rendered = render_with_secrets(seen.pull_secrets, seen.settings, lambda settings: direct_children(obj, settings, observed), problems)
    children = rendered.children
    if seen.cold is not None:  # by which later passes see whether anything else changes
        marks = {COLD: digest(seen.cold["spec"]["template"])}
        children = [annotate(child, marks) if child["kind"] == "Deployment" else child for child in children]
    # a graph takes over the Services that earlier releases gave to its components
    names = {one["metadata"]["name"] for one in seen.owned if is_model_service(one["kind"], one["metadata"]["name"])}
    kept = frozenset(names if is_of_a_graph(obj) else ())
    return Plan(children, kept, [*problems, *map(problem_of_render, rendered.problems)], rendered.notes)
