"""Predicts a move of one object without a cluster: its round trip, its annotations, and a re-creation. Pure, and linear in its size."""

from collections.abc import Iterator
from typing import Any, Final

from ....admission.pipeline import Settings
from ....api.kinds import api_version
from ....api.line import Line
from ....api.paths import format_path
from ....api.wording import shorten
from ....conversion.bounds import MAX_ANNOTATION_BYTES, TOO_LONG, annotation_size
from ....conversion.difference import find_differences
from ....conversion.lens.protocol import ConversionError
from ....conversion.objects import convert_object, target
from ....kube.protocol import Node
from ....policies.facts import Facts
from ...objects.forms import list_refusals
from .report import ObjectNote

REFUSED: Final = "refused"  # the API server will not store it in the version
TOO_BIG: Final = "too-long"  # it would be stored without what does not fit
LOWERED: Final = "loses-fields"  # each write takes fields away that the definitions lack
DIFFERS: Final = "differs"
UNCREATABLE: Final = "refused-at-creation"
# fields that objects of older lines lack: where managedFields name one that the schema lacks, the definitions of an earlier line were
# applied, and each write takes such fields away
_SINCE: Final = {
    "minAvailable": Line.V1_3,
    "startupPolicy": Line.V1_3,
    "runtimeVersionOverride": Line.V1_5,
    "providerOverride": Line.V1_5,
    "forceScalingGroup": Line.V1_5,
}
_MAX_SENTENCE_CHARACTERS: Final = 300
_MAX_FINDINGS: Final = 3  # of one object
_MAX_MANAGED_FIELDS_LEVELS: Final = 64


def format_name(obj: Node) -> str:
    """`namespace/name`, of an object of any quality."""
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"


def list_managed_fields(metadata: Any) -> list[Node]:
    """The entries of managedFields, of metadata of any quality."""
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    return [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []


def find_notes(obj: Node, to: str, line: Line) -> list[ObjectNote]:
    """The report on one object to be moved to version `to`. The object is not changed."""
    wanted, name = target(api_version(to), line), format_name(obj)
    came_from = str(obj.get("apiVersion") or "")
    try:
        there = obj if came_from == wanted.api_version else convert_object(obj, wanted).object
        other = came_from if there is not obj else api_version("v1alpha1" if to == "v1beta1" else "v1beta1")
        back = convert_object(there, target(other, line)).object
        home = back if there is not obj else convert_object(back, wanted).object
    except ConversionError as error:
        return [ObjectNote(name, REFUSED, shorten(f"{format_path(error.path)}: {error.reason}".lstrip(": "), _MAX_SENTENCE_CHARACTERS))]
    notes = [ObjectNote(name, matter, text) for matter, text in _of_annotations(there, to)]
    changed = find_differences(home, obj)
    if changed and not notes:
        fields = ", ".join(format_path(tuple(entry[0])) or "the object" for entry in changed[:_MAX_FINDINGS])
        more = f" and {len(changed) - _MAX_FINDINGS} more fields" if len(changed) > _MAX_FINDINGS else ""
        notes.append(ObjectNote(name, DIFFERS, shorten(f"{fields}{more}", _MAX_SENTENCE_CHARACTERS)))
    try:
        reasons = [refusal.text for refusal in list_refusals(there, to, Settings(Facts(operatorLine=line)))]
    except RecursionError:  # hundreds of maps in each other
        reasons = ["the object is nested too deeply to be checked"]
    if reasons:
        notes.append(ObjectNote(name, UNCREATABLE, shorten("; ".join(reasons[:_MAX_FINDINGS]), _MAX_SENTENCE_CHARACTERS)))
    return notes


def find_lost_fields(metadata: Node, line: Line) -> set[str]:
    """Set fields of lines later than this one, by the object's managedFields, whether the schema still has them or not."""
    todo: list[tuple[Any, int]] = [(each.get("fieldsV1"), 0) for each in list_managed_fields(metadata)]
    fields: set[str] = set()
    while todo:
        node, depth = todo.pop()
        if isinstance(node, dict) and depth < _MAX_MANAGED_FIELDS_LEVELS:
            fields |= {key[2:] for key in node if key.startswith("f:") and line < _SINCE.get(key[2:], line)}
            todo += [(value, depth + 1) for value in node.values()]
    return fields


def _of_annotations(there: Node, to: str) -> Iterator[tuple[str, str]]:
    metadata = there.get("metadata") or {}
    annotations = metadata.get("annotations")
    needed = annotation_size(annotations) if isinstance(annotations, dict) else 0
    if needed > MAX_ANNOTATION_BYTES:
        yield (
            REFUSED,
            f"metadata.annotations must be at most {MAX_ANNOTATION_BYTES // 1024} KiB, and needs {-(-needed // 1024)} KiB in {to}",
        )
    labels = metadata.get("labels")
    if isinstance(labels, dict) and TOO_LONG in labels:
        yield TOO_BIG, f"metadata.annotations can't hold all of it in {to}: make the object smaller first"
