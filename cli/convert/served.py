"""Converts an object of a file with the remainder that a server would hold: schema defaults are there when it converts, and the file's
fields stay as they were written. Blocks that switch something on are the exception, and say their defaults: where a manager owns nothing
below them, an apply beside another manager would switch them off. So do empty sections of a request, which v1alpha1 can't say. A sync of
the converted file then finds nothing to write."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.line import INSTALLED
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.default import default, drop_nulls
from dynamo_webhooks.conversion.engine import Converted
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.legacy import RECORD
from dynamo_webhooks.conversion.objects import convert_object
from dynamo_webhooks.conversion.remainder import reserved
from dynamo_webhooks.conversion.request import REQUEST
from dynamo_webhooks.conversion.request_stored import SECTIONS

if TYPE_CHECKING:
    from dynamo_webhooks.api.line import Line
    from dynamo_webhooks.conversion.objects import Target

    Object = dict[str, Any]

BLOCKS: Final = frozenset({"gpuMemoryService", "failover", "checkpoint"})


def as_served(obj: Object, wanted: Target) -> Converted:
    """The object converted as it stands, with the remainder of the defaulted one.

    Raises: ConversionError as `convert_object` does.
    """
    done = convert_object(_with_sections(obj), wanted, whole=True)
    full = convert_object(_stored(defaulted(obj, wanted.line)), wanted, whole=True).object
    ours = reserved(KINDS[obj["kind"]])
    metadata = dict(done.object["metadata"])
    annotations = {key: text for key, text in _annotations(done.object).items() if key not in ours}
    held = {key: text for key, text in _annotations(full).items() if key in ours}
    if not _annotations(obj).keys() & set(ours):
        held.pop(RECORD, None)  # it would say that older operators wrote nothing, and be written anew at each sync once the file is edited
    annotations |= held
    if annotations:
        metadata["annotations"] = annotations
    elif metadata.get("annotations"):
        del metadata["annotations"]
    found = {**_with_blocks(done.object, full), "metadata": metadata}
    if "status" not in obj and "status" not in full:
        found.pop("status", None)  # a manager who applied it would fight with the controller
    return Converted(found, done.damaged)


def _stored(obj: Object) -> Object:
    """As it will be when it has been stored: with a uid."""
    metadata = obj.get("metadata")
    return {**obj, "metadata": {"uid": "-", **metadata}} if type(metadata) is dict else obj


def _with_sections(obj: Object) -> Object:
    """What was written, with the defaults of sections of a request that stand empty."""
    spec: Any = obj.get("spec")
    if obj["kind"] != REQUEST.name or type(spec) is not dict:
        return obj
    return {**obj, "spec": {**spec, **{name: defaults for name, defaults in SECTIONS.items() if spec.get(name) == {}}}}


def _with_blocks(written: Any, full: Any) -> Any:
    """What was written, with the blocks of the defaulted object."""
    if type(written) is dict and type(full) is dict:
        return {name: full.get(name) if name in BLOCKS else _with_blocks(below, full.get(name)) for name, below in written.items()}
    if type(written) is list and type(full) is list and len(written) == len(full):
        return [_with_blocks(*pair) for pair in zip(written, full, strict=True)]
    return written


def _annotations(obj: Object) -> Object:
    return (obj.get("metadata") or {}).get("annotations") or {}


def defaulted(obj: Object, line: Line = INSTALLED) -> Object:
    """A copy as an API server with the definitions of a line decodes it, unknown fields apart: those a person must see."""
    version = str(obj.get("apiVersion")).rpartition("/")[2]
    out: Object = copy.deepcopy(obj)
    schema = load_schema(obj["kind"], version, line)
    default(out, schema)
    drop_nulls(out, schema)
    return out
