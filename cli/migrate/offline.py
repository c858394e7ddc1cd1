"""What moving one object would do, told without a cluster: its conversion there and back, its annotations, and a re-creation.

Costs two conversions and one judgement an object, each linear in its size. Pure.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.api.kinds import api_version
from dynamo_webhooks.api.paths import render
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.migrate.report import Note
from dynamo_webhooks.conversion.bounds import MOST, TOO_LONG, size
from dynamo_webhooks.conversion.difference import differences
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.objects import convert_object, target
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.finding import Level
from dynamo_webhooks.policies.review import CREATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.kube.protocol import Node

REFUSED: Final = "refused"  # the API server will not store it in the version
TOO_BIG: Final = "too-long"  # it would be stored without what does not fit
LOWERED: Final = "loses-fields"  # each write takes fields away that the definitions lack
DIFFERS: Final = "differs"
UNCREATABLE: Final = "refused-at-creation"
# the first field that only objects of line 1.5 have, of each kind that has one: where the schema lacks it and managedFields name it,
# the definitions of an earlier line were applied, and each write takes such fields away
_SINCE_1_5: Final = frozenset({"minAvailable", "runtimeVersionOverride", "providerOverride", "startupPolicy", "forceScalingGroup"})
_LONGEST: Final = 300  # characters of one sentence
_FEW: Final = 3  # findings that are told of one object
_DEEPEST: Final = 64  # levels of managedFields that are looked into


def name_of(obj: Node) -> str:
    """`namespace/name`, of an object of any quality."""
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"


def noted(obj: Node, to: str, line: Line) -> list[Note]:
    """What is to be said about one object whose way leads to version `to`. The object is not changed."""
    wanted, name = target(api_version(to), line), name_of(obj)
    came_from = str(obj.get("apiVersion") or "")
    try:
        there = obj if came_from == wanted.api_version else convert_object(obj, wanted).object
        other = came_from if there is not obj else _other(to)
        back = convert_object(there, target(other, line)).object
        home = back if there is not obj else convert_object(back, wanted).object
    except ConversionError as error:
        return [Note(name, REFUSED, shortened(f"{render(error.path)}: {error.reason}".lstrip(": "), _LONGEST))]
    found = [Note(name, matter, text) for matter, text in _of_annotations(there, to)]
    changed = differences(home, obj)
    if changed and not found:
        fields = ", ".join(render(tuple(entry[0])) or "the object" for entry in changed[:_FEW])
        more = f" and {len(changed) - _FEW} more fields" if len(changed) > _FEW else ""
        found.append(Note(name, DIFFERS, shortened(f"{fields}{more}", _LONGEST)))
    try:
        reasons = [*_refusals(there, to, line)]
    except RecursionError:  # hundreds of maps in each other
        reasons = ["the object is nested too deeply to be judged"]
    if reasons:
        found.append(Note(name, UNCREATABLE, shortened("; ".join(reasons[:_FEW]), _LONGEST)))
    return found


def lost_fields(metadata: Node) -> set[str]:
    """Fields of line 1.5 that somebody wrote, by the object's managedFields, whether the schema still has them or not."""
    entries = metadata.get("managedFields")
    todo: list[tuple[Any, int]] = [(each.get("fieldsV1"), 0) for each in (entries or ()) if isinstance(each, dict)]
    found: set[str] = set()
    while todo:
        node, depth = todo.pop()
        if isinstance(node, dict) and depth < _DEEPEST:
            found |= {key[2:] for key in node if key.startswith("f:")} & _SINCE_1_5
            todo += [(value, depth + 1) for value in node.values()]
    return found


def _other(to: str) -> str:
    return api_version("v1alpha1" if to == "v1beta1" else "v1beta1")


def _of_annotations(there: Node, to: str) -> Iterator[tuple[str, str]]:
    metadata = there.get("metadata") or {}
    annotations = metadata.get("annotations")
    needed = size(annotations) if isinstance(annotations, dict) else 0
    if needed > MOST:
        yield REFUSED, f"metadata.annotations must be at most {MOST // 1024} KiB, and needs {-(-needed // 1024)} KiB in {to}"
    labels = metadata.get("labels")
    if isinstance(labels, dict) and TOO_LONG in labels:
        yield TOO_BIG, f"metadata.annotations can't hold all of it in {to}: make the object smaller first"


def _refusals(there: Node, to: str, line: Line) -> Iterator[str]:
    """Why a creation of the same object in the version would be refused, by the schema first, then by rules."""
    settings = Settings(Facts(operatorLine=line))
    one = Admission(str(there.get("kind")), to, CREATE, copy.deepcopy(there), user="", settings=settings)
    if errors := (one.decode_metadata() or one.decode()):
        yield from (f"{render(error.path)}: {error.message}" for error in errors)
        return
    one.shape()
    try:
        one.mutate()
        yield from (f"{render(error.path)}: {error.message}" for error in one.conform())
        for finding in one.judge():
            if finding.level is Level.ERROR:
                yield f"{render(finding.path)}: {finding.text}"
    except ConversionError as error:
        yield f"{render(error.path)}: {error.reason}"
