"""Finds the facts, operator release and namespace by which each file is judged."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ...api.line import Line
from ...policies.facts import Facts
from ..console.exits import UsageError
from ..console.nearest import did_you_mean
from ..facts.load import facts_of_line, load_facts
from .discover import find_owners, own

if TYPE_CHECKING:
    from ..console.flags import FactFlags
    from .load import Cluster
    from .options import ProjectOptions


class Target(NamedTuple):
    """What a file is judged by; `cluster` is the name of its cluster in the project file, empty without one."""

    facts: Facts
    namespace: str = ""
    cluster: str = ""


class Targets:
    """Finds the target of each file. Flags win over a cluster's keys, these over the project's; facts are read once a cluster."""

    def __init__(self, facts: FactFlags, project: ProjectOptions, *, clusters_line: bool = True) -> None:
        """Without `clusters_line` the lines of clusters don't count. Raises: UsageError for a cluster that does not exist."""
        self._facts, self._project, self._clusters_line = facts, project, clusters_line
        self._clusters: dict[str, Cluster] = project.value("clusters") or {}
        self._names = list(self._clusters)
        self._targets: dict[str, Target] = {}
        self._chosen = project.facts_of
        if self._chosen is not None:
            self._require(self._chosen)

    def _require(self, name: str) -> None:
        if self._facts.file is not None and "facts" not in self._project.laid:
            raise UsageError("--facts and --facts-of both give the facts: use one of them")
        if self._project.file is None or not self._clusters:
            raise UsageError(f"--facts-of {name}: there are no clusters in .dynamo-webhooks.yaml")
        if name not in self._clusters:
            known = did_you_mean(name, self._names) or f"; known: {', '.join(self._names)}"
            raise UsageError(f"--facts-of {name}: {self._project.file.origins['clusters']}: clusters has no such cluster{known}")

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
        return self._line_of(self._clusters.get(name))

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
            self._targets[name] = Target(self._facts_of(name, cluster), cluster.namespace if cluster is not None else "", name)
        return self._targets[name]

    def _facts_of(self, name: str, cluster: Cluster | None) -> Facts:
        file, called, project = self._facts.file, "--facts", self._project
        if file is None or "facts" in project.laid:
            if cluster is not None and cluster.facts is not None:
                file, called = cluster.facts, f"{cluster.origin}: clusters.{name}.facts:"
            elif project.file is not None and file is not None:
                called = f"{project.file.origins['facts']}: facts:"
        return facts_of_line(load_facts(file, self._facts.set_fact, called), self._line_of(cluster))

    def _line_of(self, cluster: Cluster | None) -> Line | None:
        line = self._facts.line
        if cluster is None or (line is not None and "line" not in self._project.laid) or not self._clusters_line:
            return line
        # facts of its own have the line, unless it names one
        return cluster.line if cluster.line is not None or cluster.facts is not None else line
