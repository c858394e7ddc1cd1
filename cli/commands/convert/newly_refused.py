"""Converts a file, but no object that `check` would refuse in the other version and did not refuse before."""

import json
from collections.abc import Iterator
from typing import Any, Final

from ....api.line import Line
from ....conversion.kinds import KINDS
from ....conversion.remainder import annotation_keys
from ....policies.catalogue import find_rule
from ....policies.facts import Facts
from ....policies.review import CREATE, Fields
from ...objects.manifest import find_manifests
from ...validation.finding import LocatedFinding
from ...validation.levels import ERROR
from ...validation.pipeline import Settings, check_object
from ...yaml.load import Document, Source, read_text
from .run import Outcome, convert_text

_OF_V1ALPHA1: Final = "dynamo_webhooks.policies.v1alpha1."


def convert_accepted(name: str, text: str, version: str, *, line: Line, **how: Any) -> tuple[Outcome, list[str]]:
    """A text as `convert_text` converts it, and a sentence for each error that an object would have in the other version alone.

    Such an object stays as it is. One of the first releases doesn't, whose author has decisions to make.
    """
    done = convert_text(name, text, version, line=line, **how)
    refused = _newly_refused(name, text, done.text, line) if done.converted else []
    if not refused:
        return done, []
    kept = convert_text(name, text, version, line=line, leaving=frozenset(written for written, _ in refused), **how)
    stays = "it stays as it is, because " if kept.text != done.text else ""
    told = [f"{finding.identity}: {stays}check refuses the converted object: {finding.about} ({finding.rule})" for _, finding in refused]
    return kept, [f"{name}: {sentence}" for sentence in told]


def _newly_refused(name: str, before: str, after: str, line: Line) -> list[tuple[str, LocatedFinding]]:
    """The new errors of a converted text, each with the object as it was written.

    What only v1alpha1 can say comes back from the annotations of an object as its author said it there: errors of that aren't new.
    Conversion keeps the order of objects, so that the number of an object finds it again.
    """
    objects: list[str] = []
    known = {(number, finding.rule) for number, finding in _errors(name, before, line, objects)}
    found = ((objects[number], finding) for number, finding in _errors(name, after, line, []) if (number, finding.rule) not in known)
    return [(obj, finding) for obj, finding in found if not (_is_of_v1alpha1(finding.rule) and _remembers_author(json.loads(obj)))]


def _remembers_author(obj: Fields) -> bool:
    """Whether an object has annotations in which conversion keeps what its author said in the other version."""
    kind = KINDS.get(str(obj.get("kind")))
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    return kind is not None and any(key in annotations for key in annotation_keys(kind))


def _is_of_v1alpha1(rule: str) -> bool:
    """Whether a rule is about what only v1alpha1 can say."""
    found = find_rule(rule)
    return found is not None and found.module.startswith(_OF_V1ALPHA1)


def _errors(name: str, text: str, line: Line, objects: list[str]) -> Iterator[tuple[int, LocatedFinding]]:
    """The errors of a text with the numbers of their objects, which are added as they were written."""
    settings = Settings(Facts(operatorLine=line))
    documents = (one for one in read_text(Source(name, text)) if isinstance(one, Document))
    for number, found in enumerate(find_manifests(documents)):
        objects.append(json.dumps(found.data))
        for finding in check_object(found, CREATE, None, settings).findings:
            if finding.level == ERROR:
                yield number, finding
