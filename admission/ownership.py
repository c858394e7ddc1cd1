"""Which version owns a deployment request of operator 1.7: writes through another version may change nothing of its spec.

A request that was written as v1beta2 keeps its spec in `spec.v1beta2` of the other versions, and none of their rules and defaults is about
it; one that was written as v1beta1 has its spec in `spec.v1beta1` of v1beta2.
"""

from typing import Any, Final, NamedTuple

from ..api.kinds import ALPHA, BETA, BY_NAME, GAMMA, GROUP
from ..conversion.envelope import REQUEST, list_own
from ..policies.review import Fields

_ENVELOPES: Final = {ALPHA: GAMMA, BETA: GAMMA, GAMMA: BETA}  # version -> the member that holds what another version owns


class OwnerAnswer(NamedTuple):
    """The reason why a write is refused; an empty one allows it, without any rule and default."""

    field: str = ""
    reason: str = ""


def judge_owner(kind: str, version: str, obj: object, old: object) -> OwnerAnswer | None:
    """The verdict about a write of a request that another version owns, and of every one through v1beta2; None for all others."""
    if kind != REQUEST:
        return None
    envelope = _ENVELOPES[version]
    new, before = _read_spec(obj, version), _read_spec(old, version)
    if new.get(envelope) is None and before.get(envelope) is None:
        return OwnerAnswer() if version == GAMMA else None
    owner = f"{GROUP}/{envelope}"
    if old is not None and _normalize(new) == _normalize(before):
        return OwnerAnswer()
    if before.get(envelope) is None:
        done = "created" if old is None else "rewritten"
        return OwnerAnswer(f"spec.{envelope}", f"must be absent: a request of {owner} can only be {done} as {owner}; set its apiVersion so")
    where = f"kubectl edit {BY_NAME[kind].plural}.{envelope}.{GROUP}"
    return OwnerAnswer(f"spec.{envelope}", f"must stay as it is, because {owner} owns this request; change it in that version: {where}")


def _read_spec(obj: object, version: str) -> Fields:
    """The spec without nulls; one that another version owns also without what the definition adds to it."""
    written = obj.get("spec") if type(obj) is dict else None
    spec = {name: value for name, value in written.items() if value is not None} if type(written) is dict else {}
    envelope = _ENVELOPES[version]
    return {**list_own(spec, version, envelope), envelope: spec[envelope]} if envelope in spec else spec


def _normalize(value: Any) -> Any:
    """A value that equals another of the same JSON: 1 is 1.0, and neither is true."""
    if type(value) is dict:
        return {name: _normalize(item) for name, item in value.items()}
    if type(value) is list:
        return [_normalize(item) for item in value]
    return (bool, value) if type(value) is bool else value
