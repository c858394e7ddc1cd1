"""Requests of nvidia.com/v1beta2: no member is translated, each version keeps the other's spec and status whole in one member.

A request that was written as v1beta2 is stored as `spec: {v1beta2: {...}}`; one that was written as v1beta1 is read through v1beta2 as
`spec: {v1beta1: {...}}`. Spec and status are wrapped each for itself.
"""

from typing import Final

from ..api.kinds import ALPHA, BETA, GAMMA, api_version
from ..api.wording import article
from .lens.protocol import ConversionError, Fields

REQUEST: Final = "DynamoGraphDeploymentRequest"
PARTS: Final = ("spec", "status")
# defaults that definitions add to a spec, also beside an envelope: those of all releases, or of releases before 1.7
_ADDED: Final[dict[str, Fields]] = {
    ALPHA: {"autoApply": False, "enableGpuDiscovery": True, "useMocker": False},
    BETA: {"autoApply": True, "backend": "auto", "searchStrategy": "rapid"},
    GAMMA: {},
}


def is_enveloped(obj: Fields) -> bool:
    """Whether a request of v1alpha1 or v1beta1 keeps a part of v1beta2."""
    return any(type(part := obj.get(name)) is dict and part.get(GAMMA) is not None for name in PARTS)


def list_own(part: Fields, version: str, envelope: str) -> Fields:
    """The members of a part that has an envelope, without it, without nulls and without what the definition of its version adds."""
    added = _ADDED[version]
    return {name: value for name, value in part.items() if value is not None and name != envelope and added.get(name, ...) != value}


def to_gamma(obj: Fields) -> Fields:
    """A request of v1beta1 as v1beta2. Raises: ConversionError."""
    return _turned(obj, BETA, GAMMA)


def from_gamma(obj: Fields) -> Fields:
    """A request of v1beta2 as v1beta1. Raises: ConversionError."""
    return _turned(obj, GAMMA, BETA)


def take_envelopes(obj: Fields) -> tuple[Fields, Fields]:
    """A request of v1alpha1 or v1beta1 without its envelopes, and these by part; the other version has them at the same places.

    Raises: ConversionError for members of v1alpha1 beside one: its definition adds only defaults there.
    """
    plain, envelopes = {**obj}, {}
    version = obj["apiVersion"].rpartition("/")[2]
    for name in PARTS:
        if type(part := obj.get(name)) is dict and part.get(GAMMA) is not None:
            own = list_own(part, version, GAMMA)
            if version == ALPHA:
                _require_alone(name, GAMMA, own)
            envelopes[name] = part[GAMMA]
            plain[name] = own
            if not own:
                del plain[name]
    return plain, envelopes


def put_envelopes(obj: Fields, envelopes: Fields, plain: Fields) -> Fields:
    """A converted request with its envelopes again, without defaults beside them; `plain` is the source without them."""
    return {**obj, **{name: {**(obj[name] if name in plain else {}), GAMMA: envelope} for name, envelope in envelopes.items()}}


def _turned(obj: Fields, source: str, target: str) -> Fields:
    """Wraps each part, or unwraps it where it keeps one of the target's."""
    made: Fields = {**obj, "apiVersion": api_version(target), "metadata": obj.get("metadata") or {}}
    for name in PARTS:
        part = obj.get(name)
        if part is None:
            continue
        if type(part) is not dict:
            raise ConversionError((name,), f"must be an object, got {article(part)}")
        kept = part.get(target)
        if kept is None:
            made[name] = {source: {member: value for member, value in part.items() if member != target}}
            continue
        if type(kept) is not dict:
            raise ConversionError((name, target), f"must be an object, got {article(kept)}")
        _require_alone(name, target, list_own(part, source, target))
        made[name] = kept
    return made


def _require_alone(name: str, envelope: str, beside: Fields) -> None:
    """Sees to it that an envelope is alone; members that say nothing don't count. Raises: ConversionError."""
    filled = next((member for member, value in beside.items() if value != ""), "")
    if filled:
        text = f"must not be beside {name}.{envelope}, which holds the whole {name} of another version; remove one of the two"
        raise ConversionError((name, filled), text)
