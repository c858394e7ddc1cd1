"""The cluster that each file is for, by the project file: its facts, its line, and the namespace of objects that name none."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ..console.exits import UsageError
from ..console.nearest import did_you_mean
from ..facts.load import facts_of_line, load_facts

if TYPE_CHECKING:
    import argparse

    from ...api.line import Line
    from ...policies.facts import Facts
    from .judge import Cluster
    from .load import Project


class Target(NamedTuple):
    """What a file is judged by; `cluster` is the name of its cluster in the project file, empty without one."""

    facts: Facts
    namespace: str = ""
    cluster: str = ""


class Targets:
    """Finds the target of each file. Flags win over a cluster's keys, these over the project's; facts are read once a cluster.

    A cluster with facts of its own takes the line from these, unless it names one.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        """`arguments` are flags over which the project file is laid. Raises: UsageError for a cluster that does not exist."""
        self._arguments = arguments
        self._project: Project | None = arguments.project
        self._laid: frozenset[str] = arguments.laid
        self._clusters: dict[str, Cluster] = {}
        if self._project is not None and "clusters" in self._laid:
            self._clusters = self._project.values["clusters"]
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
        from .discover import own

        return own((number, self._clusters[name].paths) for number, name in enumerate(self._names))

    def _cluster_of(self, file: str) -> str:
        if not self.several:
            return ""
        from .discover import find_owners

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
        return cluster.line if cluster.line is not None or cluster.facts is not None else line
