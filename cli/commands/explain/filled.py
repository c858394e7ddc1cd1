"""The fields that a default fills in, read off its own examples: what After has and Before lacks."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from ....policies.rule import Rule
from ...yaml.load import load_documents
from .cause import WILD, Steps

_COMPARED_STEPS: Final = 2  # steps at the end of a path, without keys and indices, by which two places are the same field


def fills(rule: Rule, path: Steps) -> bool:
    """Whether a rule is a default that fills in this very field; the path is one of the version that it reads."""
    return rule.is_default and _end(path) in _filled(rule)


def _end(path: Steps) -> Steps:
    return tuple(step for step in path if step != WILD)[-_COMPARED_STEPS:]


@cache
def _filled(rule: Rule) -> frozenset[Steps]:
    """The ends of the paths that differ between Before, of an update the new object, and After."""
    return frozenset(_end(path) for before, after in rule.examples for path in _changed(_last(before), _last(after)))


def _last(block: str) -> Any:
    return [*load_documents(block)][-1].data


def _changed(before: Any, after: Any, path: Steps = ()) -> Iterator[Steps]:
    """The paths whose values differ; a missing block gives the paths of its parts."""
    if isinstance(after, dict):
        for name, value in after.items():
            yield from _changed(before.get(name) if isinstance(before, dict) else None, value, (*path, str(name)))
    elif isinstance(after, list):
        for number, value in enumerate(after):
            yield from _changed(before[number] if isinstance(before, list) and number < len(before) else None, value, (*path, WILD))
    elif before != after:
        yield path
