"""Lays the project file under a command's flags, and finds by which cluster's facts and line, and in which namespace, each file is judged.

Reading the file is load.py's, which is imported only where there is one.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from ...api.line import Line
from ...policies.facts import Facts
from ..console.exits import UsageError
from ..console.nearest import did_you_mean
from ..facts.load import facts_of_line, load_facts
from ..files.find import find_files
from ..yaml.errors import InputError
from .discover import find_owners, find_project_file, own
from .keys import USER

if TYPE_CHECKING:
    from .load import Cluster, Project

RULES_FROM: Final = "rules-from"


def apply_project(arguments: argparse.Namespace, names: Sequence[str], paths: Sequence[str]) -> None:
    """Fills in what flags left open: the keys of these names, from the project file of these paths, where there is one.

    Sets `project`, None without a file, `laid`, the names of the keys that the file decides, and `user_rules`. Raises: UsageError.
    """
    arguments.project, arguments.laid, arguments.reads_line, arguments.user_rules = None, frozenset(), "line" in names, None
    arguments.site = ""
    place = None if arguments.no_project else find_project_file(paths)
    if place is not None:
        from .load import fill_flags

        fill_flags(arguments, place, names)
    if RULES_FROM in names:
        _add_user_rules(arguments)


def _add_user_rules(arguments: argparse.Namespace) -> None:
    """Reads the users' own rules and lists them in the catalogue. Raises: UsageError for a policy that can't be used, or is not there."""
    from ...policies.catalogue import set_user_rules

    if RULES_FROM not in arguments.laid:
        set_user_rules(())
        return
    from ..userrules.load import load_user_rules

    project = arguments.project
    arguments.user_rules = load_user_rules(project.values[RULES_FROM], project.folder)
    set_user_rules(one.rule for one in arguments.user_rules.policies)
    known = [one.rule.name for one in arguments.user_rules.policies]
    weighed = [project.values.get("rules", {}), *(one.rules for one in project.values.get("overrides", ()))]
    for name, severity in (pair for rules in weighed for pair in rules.items()):
        if name.startswith(USER) and name not in known:
            raise UsageError(f"{severity.origin}: {name}: there is no such rule in rules-from{did_you_mean(name, known)}")


def input_files(arguments: argparse.Namespace, paths: list[str]) -> list[str | InputError]:
    """The files that paths mean, without those that flags or the project leave out."""
    files = find_files(paths, arguments.exclude)
    if arguments.project is None:
        return files
    from .load import filter_files

    return [*filter_files(arguments, files)]


class Target(NamedTuple):
    """What a file is judged by; `cluster` is the name of its cluster in the project file, empty without one."""

    facts: Facts
    namespace: str = ""
    cluster: str = ""


class Targets:
    """Finds the target of each file. Flags win over a cluster's keys, these over the project's; facts are read once a cluster."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        """`arguments` are flags over which the project file is laid. Raises: UsageError for a cluster that does not exist."""
        self._arguments = arguments
        self._project: Project | None = arguments.project
        self._laid: frozenset[str] = arguments.laid
        laid = self._project is not None and "clusters" in self._laid
        self._clusters: dict[str, Cluster] = arguments.project.values["clusters"] if laid else {}
        self._names = list(self._clusters)
        self._targets: dict[str, Target] = {}
        self._chosen: str | None = arguments.facts_of
        if self._chosen is not None:
            self._require(self._chosen)

    def _require(self, name: str) -> None:
        if self._arguments.facts is not None and "facts" not in self._laid:
            raise UsageError("--facts and --facts-of both give the facts: use one of them")
        if self._project is None or not self._clusters:
            raise UsageError(f"--facts-of {name}: there are no clusters in .dynamo-webhooks.yaml")
        if name not in self._clusters:
            known = did_you_mean(name, self._names) or f"; known: {', '.join(self._names)}"
            raise UsageError(f"--facts-of {name}: {self._project.origins['clusters']}: clusters has no such cluster{known}")

    @property
    def several(self) -> bool:
        """Whether files may have different targets."""
        return bool(self._clusters) and self._chosen is None

    @cached_property
    def usual(self) -> Target:
        """The target of a file that belongs to no cluster."""
        return self._of_cluster(self._chosen or "")

    def of(self, file: str) -> Target:
        """The target of a file, or of a text that was rendered from a folder. Raises: UsageError for facts that can't be used."""
        name = self._cluster_of(file)
        return self._of_cluster(name) if name else self.usual

    def read_all(self) -> None:
        """Reads the facts of all clusters. Raises: UsageError."""
        for name in ("", *self._names):
            self._of_cluster(name)

    def line_of(self, file: str) -> Line | None:
        """The line that flags or the project file give for a file, without a look at facts."""
        name = self._cluster_of(file) or self._chosen or ""
        return self._line(self._clusters.get(name))

    @cached_property
    def _owners(self) -> dict[str, list[int]]:
        return own((number, self._clusters[name].paths) for number, name in enumerate(self._names))

    def _cluster_of(self, file: str) -> str:
        if not self.several:
            return ""
        found = find_owners(file, self._owners)
        return self._names[found[0]] if found else ""

    def _of_cluster(self, name: str) -> Target:
        if name not in self._targets:
            cluster = self._clusters.get(name)
            self._targets[name] = Target(self._facts(name, cluster), cluster.namespace if cluster is not None else "", name)
        return self._targets[name]

    def _facts(self, name: str, cluster: Cluster | None) -> Facts:
        given = self._arguments
        file, called = given.facts, "--facts"
        if file is None or "facts" in self._laid:
            if cluster is not None and cluster.facts is not None:
                file, called = cluster.facts, f"{cluster.origin}: clusters.{name}.facts:"
            elif self._project is not None and file is not None:
                called = f"{self._project.origins['facts']}: facts:"
        facts = load_facts(file, given.set_fact, called)
        return facts_of_line(facts, self._line(cluster))

    def _line(self, cluster: Cluster | None) -> Line | None:
        line: Line | None = self._arguments.line
        if cluster is None or (line is not None and "line" not in self._laid) or not self._arguments.reads_line:
            return line
        # facts of its own have the line, unless it names one
        return cluster.line if cluster.line is not None or cluster.facts is not None else line
