"""Lays the project file under a command's flags, and finds by which cluster's facts and line, and in which namespace, each file is judged.

Reading the file is load.py's, which is imported only where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

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
    from ..console.flags import FactFlags
    from ..userrules.load import UserRules
    from .load import Cluster, Project
    from .options import ProjectOptions

RULES_FROM: Final = "rules-from"
_Options = TypeVar("_Options")
_FIELDS: Final = {"outputs": "output"}  # of options, where they are not called as the key
_FACTS: Final = {"line": "line", "facts": "file"}  # of the flags that give facts, where there are such
_FILLED: Final = frozenset(("paths", "line", "facts", "baseline", "outputs"))  # the others are more than a flag can say
_INPUTS: Final = ("paths", "files_from", "kustomize", "helm", "cluster")  # any of them says what to read


def apply_project(options: _Options, names: Sequence[str], paths: Sequence[str]) -> _Options:
    """The options with the keys of these names that flags left open, from the project file of these paths, if any. Raises: UsageError."""
    given: Any = options
    place = None if given.project.no_project else find_project_file(paths)
    if place is None:
        return options
    from .load import load

    return apply(options, load(place), names)


def apply(options: _Options, project: Project, names: Sequence[str]) -> _Options:
    """The options with those values of the project that no flag gives."""
    given: Any = options
    laid = frozenset(name for name in names if name in project.values and not _given(given, name))
    filled = {_FIELDS.get(name, name): project.values[name] for name in laid.intersection(_FILLED)}
    if hasattr(given, "facts"):
        facts = {name: filled.pop(key) for key, name in _FACTS.items() if key in filled}
        filled["facts"] = given.facts._replace(**facts)
    made: _Options = given._replace(project=given.project._replace(file=project, laid=laid), **filled)
    return made


def _given(options: Any, name: str) -> bool:
    if name in _FACTS and hasattr(options, "facts"):
        return getattr(options.facts, _FACTS[name]) is not None
    names = _INPUTS if name == "paths" else (_FIELDS.get(name, name),)
    return any(getattr(options, one, None) for one in names)


def load_own_rules(project: ProjectOptions) -> UserRules | None:
    """Reads the users' own rules and lists them in the catalogue. Raises: UsageError for a policy that can't be used, or is not there."""
    from ...policies.catalogue import set_user_rules

    if project.file is None or RULES_FROM not in project.laid:
        set_user_rules(())
        return None
    from ..userrules.load import load_user_rules

    values = project.file.values
    rules = load_user_rules(values[RULES_FROM], project.file.folder)
    set_user_rules(one.rule for one in rules.policies)
    known = [one.rule.name for one in rules.policies]
    weighed = [values.get("rules", {}), *(one.rules for one in values.get("overrides", ()))]
    for name, severity in (pair for each in weighed for pair in each.items()):
        if name.startswith(USER) and name not in known:
            raise UsageError(f"{severity.origin}: {name}: there is no such rule in rules-from{did_you_mean(name, known)}")
    return rules


def input_files(project: ProjectOptions, paths: Sequence[str], excluded: Sequence[str], named: Sequence[str]) -> list[str | InputError]:
    """The files that paths mean, without those that flags or the project leave out; files of `named` paths stay."""
    files = find_files(paths, excluded)
    if project.file is None:
        return files
    from .load import filter_files

    return [*filter_files(project, files, () if "paths" in project.laid else named)]


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
