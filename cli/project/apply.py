"""Lays the project file under a command's flags; load.py, which reads it, is imported only where there is one."""

from __future__ import annotations

# ruff: noqa: PTH100 - pathlib takes longer to import than a small file takes to check
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..console.exits import UsageError
from ..console.kubernetes import OLDEST_MINOR
from ..console.nearest import did_you_mean
from ..files.find import find_files, is_excluded
from ..files.read import STDIN
from ..yaml.errors import InputError
from .discover import find_project_file
from .keys import KUBERNETES, USER

if TYPE_CHECKING:
    from ..userrules.load import UserRules
    from .load import Project
    from .options import ProjectOptions

RULES_FROM: Final = "rules-from"
_Options = TypeVar("_Options")
_FACTS: Final = {"line": "line", "facts": "file"}  # of the flags that give facts, where there are such
_FILLED: Final = frozenset(("paths", "line", "facts", "baseline", "outputs"))  # the others are more than a flag can say
_INPUTS: Final = ("paths", "files_from", "kustomize", "cluster")  # any of them says what to read


def apply_project(options: _Options, names: Sequence[str], paths: Sequence[str]) -> _Options:
    """The options with the keys of these names that flags left open, from the project file of these paths, if any. Raises: UsageError."""
    given: Any = options
    location = None if given.project.no_project else find_project_file(paths)
    if location is None:
        return options
    from .load import load

    return apply(options, load(location), names)


def apply(options: _Options, project: Project, names: Sequence[str]) -> _Options:
    """The options with those values of the project that no flag gives."""
    given: Any = options
    laid = frozenset(name for name in names if name in project.values and not _is_given(given, name))
    filled = {name: project.values[name] for name in laid.intersection(_FILLED)}
    if hasattr(given, "facts"):
        facts = {name: filled.pop(key) for key, name in _FACTS.items() if key in filled}
        filled["facts"] = given.facts._replace(**facts)
    made: _Options = given._replace(project=given.project._replace(file=project, laid=laid), **filled)
    return made


def _is_given(options: Any, name: str) -> bool:
    if name in _FACTS and hasattr(options, "facts"):
        return getattr(options.facts, _FACTS[name]) is not None
    return any(getattr(options, option, None) for option in (_INPUTS if name == "paths" else (name,)))


def find_oldest_minor(project: ProjectOptions) -> int:
    """The oldest release of Kubernetes that must accept policies, where no flag names one."""
    return int(project.file.values.get(KUBERNETES, OLDEST_MINOR)) if project.file is not None else OLDEST_MINOR


def load_own_rules(project: ProjectOptions, minor: int | None = None, problems: list[UsageError] | None = None) -> UserRules | None:
    """Reads the users' own rules and lists them in the catalogue. Raises: UsageError for a policy that can't be used, or is not there.

    `minor` is the oldest release of Kubernetes that must accept them, where a flag names one; `problems` takes mistakes in policies.
    """
    from ...policies.catalogue import set_user_rules

    if project.file is None or RULES_FROM not in project.laid:
        set_user_rules(())
        return None
    from ..userrules.load import read_user_rules

    values = project.file.values
    rules, errors = read_user_rules(values[RULES_FROM], project.file.folder, minor or find_oldest_minor(project))
    if errors and problems is None:
        raise errors[0]
    if problems is not None:
        problems += errors
    set_user_rules(policy.rule for policy in rules.policies)
    known = [policy.rule.name for policy in rules.policies]
    for name, severity in values.get("rules", {}).items():
        if name.startswith(USER) and name not in known and not errors:
            raise UsageError(f"{severity.origin}: {name}: there is no such rule in rules-from{did_you_mean(name, known)}")
    return rules


def find_input_files(
    project: ProjectOptions, paths: Sequence[str], excluded: Sequence[str], named: Sequence[str]
) -> list[str | InputError]:
    """The files that paths mean, without those that flags or the project leave out; files of `named` paths stay."""
    files = find_files(paths, excluded)
    if project.file is None:
        return files
    return [*_filter_files(project, files, () if "paths" in project.laid else named)]


def _filter_files(project: ProjectOptions, files: Sequence[str | InputError], named: Sequence[str]) -> Iterator[str | InputError]:
    """Those files that the project leaves in, or that are `named`, or whose folder is."""
    patterns, folder = project.value("exclude") or (), project.file.folder if project.file is not None else ""

    def out(name: str) -> bool:
        return name != STDIN and is_excluded(os.path.relpath(os.path.abspath(name), folder), patterns)

    folders = (f"{os.path.normpath(path)}/" for path in named)
    requested = tuple(each for each in folders if out(each) or out(f"{each}_"))  # or whatever is in it, as by `old/*`
    for file in files:
        name = file.name if isinstance(file, InputError) else file
        if not out(name) or f"{os.path.normpath(name)}/".startswith(requested):
            yield file
