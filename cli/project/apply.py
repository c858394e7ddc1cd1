"""The entry of a command: lays the project file under its flags, and imports what that takes only where there is a file."""

import argparse
from collections.abc import Sequence
from typing import Final

from ..files.find import find_files
from ..yaml.errors import InputError
from .discover import find_project_file

RULES_FROM: Final = "rules-from"


def apply_project(arguments: argparse.Namespace, names: Sequence[str], paths: Sequence[str]) -> None:
    """Fills in what flags left open: the keys of these names, from the project file of these paths, where there is one.

    Sets `project`, None without a file, and `laid`, the names of the keys that the file decides; with `rules-from`, `user_rules`.

    Raises: UsageError for a file that can't be used.
    """
    arguments.project, arguments.laid, arguments.reads_line, arguments.user_rules = None, frozenset(), "line" in names, None
    arguments.site = ""
    place = None if arguments.no_project else find_project_file(paths)
    if place is not None:
        from .overlay import fill_flags

        fill_flags(arguments, place, names)
    if RULES_FROM in names:
        _add_user_rules(arguments)


def _add_user_rules(arguments: argparse.Namespace) -> None:
    """Reads the users' own rules and lists them in the catalogue. Raises: UsageError for a policy that can't be used, or is not there."""
    from ...policies.catalogue import set_user_rules

    if RULES_FROM not in arguments.laid:
        set_user_rules(())
        return
    from ..console.exits import UsageError
    from ..console.nearest import did_you_mean
    from ..userrules.load import load_user_rules
    from .keys import USER

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
    from .overlay import filter_files

    return [*filter_files(arguments, files)]
