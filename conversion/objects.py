"""Converts one object of any kind, or reports a field and a reason. The entry point for the webhook and the command line."""

import re
from typing import Final, NamedTuple

from ..api.decode import decoder
from ..api.kinds import ALPHA, BETA, BY_NAME, GAMMA, GROUP, api_version
from ..api.line import NEWEST, Line
from ..api.paths import Path
from ..api.wording import article
from .engine import Conversion, convert
from .envelope import PARTS, REQUEST, from_gamma, is_enveloped, put_envelopes, take_envelopes, to_gamma
from .kinds import kind_of
from .lens.protocol import ConversionError, Fields
from .services import MAX_NAME_CHARACTERS

_LATER: Final = re.compile(r"v[1-9][0-9]{0,8}(?:(?:alpha|beta)[1-9][0-9]{0,8})?")
_OF_EVERY_VERSION: Final = frozenset({"apiVersion", "kind", "metadata"})
_VERSIONS_OF: Final = {name: frozenset(version.name for version in kind.of_line(NEWEST)) for name, kind in BY_NAME.items()}


class Target(NamedTuple):
    """A desired apiVersion, parsed once for a whole review."""

    api_version: str
    version: str
    is_our_group: bool
    line: Line


def target(api_version: str, line: Line) -> Target:
    """Parse `nvidia.com/v1beta1`; other groups are errors. The line is that of the definitions to convert for."""
    group, _, version = api_version.partition("/")
    return Target(api_version, version, group == GROUP, line)


def convert_object(obj: object, wanted: Target, *, whole: bool = False) -> Conversion:
    """Convert one object, or return it if it has the desired version.

    A `whole` conversion also saves remainders that are too long for an API server.

    Raises: ConversionError naming the field and the problem; anything else is an internal error.
    """
    if type(obj) is not dict:
        raise ConversionError((), f"must be an object, got {article(obj)}")
    _require_objects(obj)
    try:
        name, version = _identity(obj, wanted)
    except ConversionError:
        if _has_metadata_alone(obj, wanted):
            return Conversion({**obj, "apiVersion": wanted.api_version}, ())
        raise
    if version == wanted.version:
        return Conversion(obj if obj.get("metadata") is not None else {**obj, "metadata": {}}, ())
    if name == REQUEST and (GAMMA in (version, wanted.version) or is_enveloped(obj)):
        return _convert_request(obj, version, wanted, whole=whole)
    return _convert(obj, name, version, wanted, whole=whole)


def _convert(obj: Fields, name: str, version: str, wanted: Target, *, whole: bool) -> Conversion:
    try:
        return convert(kind_of(name, wanted.line), obj, wanted.version, whole=whole)
    except ConversionError:
        raise
    except Exception:
        _require_types(obj, name, version)
        raise


def _convert_request(obj: Fields, version: str, wanted: Target, *, whole: bool) -> Conversion:
    """Convert a request from or to v1beta2, or one that keeps a part of it, by way of v1beta1."""
    if version == GAMMA:
        beta = from_gamma(obj)
        return Conversion(beta, ()) if wanted.version == BETA else _convert_request(beta, BETA, wanted, whole=whole)
    if wanted.version == GAMMA:
        if version == BETA:
            return Conversion(to_gamma(obj), ())
        done = _convert_request(obj, ALPHA, target(api_version(BETA), wanted.line), whole=whole)
        return done._replace(object=to_gamma(done.object))
    plain, envelopes = take_envelopes(obj)
    if not any(name in plain for name in PARTS):
        return Conversion(
            {**obj, "apiVersion": wanted.api_version, **{name: {GAMMA: envelope} for name, envelope in envelopes.items()}}, ()
        )
    done = _convert(plain, REQUEST, version, wanted, whole=whole)
    return done._replace(object=put_envelopes(done.object, envelopes, plain))


def _identity(obj: Fields, wanted: Target) -> tuple[str, str]:
    """The kind and version of an object whose names allow conversion."""
    api_version, name = _text(obj, "apiVersion"), _text(obj, "kind")
    group, _, version = api_version.partition("/")
    known = _VERSIONS_OF.get(name) if group == GROUP else None
    if known is None:
        raise ConversionError(("kind",), _stranger(name, group))
    if version not in known:
        text = f'must be {_versions(name)} for {name}, got "{api_version[:MAX_NAME_CHARACTERS]}"'
        raise ConversionError(("apiVersion",), text + _ask_for_upgrade(obj, version))
    if not wanted.is_our_group or wanted.version not in known:
        text = f'{name} exists as {_versions(name)}, not as "{wanted.api_version[:MAX_NAME_CHARACTERS]}"'
        raise ConversionError(("apiVersion",), text + (_ask_for_upgrade(obj, wanted.version) if wanted.is_our_group else ""))
    return name, version


def _has_metadata_alone(obj: Fields, wanted: Target) -> bool:
    """Whether an object needs no conversion to or from a version of a later release, because it has the version or no other field."""
    group, _, version = str(obj.get("apiVersion")).partition("/")
    known = _VERSIONS_OF.get(str(obj.get("kind")))
    if known is None or group != GROUP or not wanted.is_our_group or type(obj.get("metadata")) is not dict:
        return False
    later = [name for name in (version, wanted.version) if name not in known]
    if not later or not all(map(_LATER.fullmatch, later)):
        return False
    return version == wanted.version or not _first_own_field(obj)


def _first_own_field(obj: Fields) -> str:
    return next((name for name, value in obj.items() if value and name not in _OF_EVERY_VERSION), "")


def _ask_for_upgrade(obj: Fields, version: str) -> str:
    """The end of a refusal of a version that a later release may have."""
    field = _first_own_field(obj) if _LATER.fullmatch(version) else ""
    return f"; its {field[:MAX_NAME_CHARACTERS]} can only be converted by a release of dynamo-webhooks that knows it" if field else ""


def _text(obj: Fields, field: str) -> str:
    value = obj.get(field)
    if type(value) is not str or not value:
        raise ConversionError((field,), "must be a non-empty string")
    return value


def _stranger(name: str, group: str) -> str:
    if group == GROUP and name.endswith("List") and name.removesuffix("List") in BY_NAME:
        return f"must be one object, got {name}: its items are converted one by one"
    return f'must be a kind of {GROUP}, got "{name[:MAX_NAME_CHARACTERS]}" of "{group[:MAX_NAME_CHARACTERS]}"'


def _versions(name: str) -> str:
    return " or ".join(f"{GROUP}/{version.name}" for version in BY_NAME[name].versions)


def _require_objects(obj: Fields) -> None:
    metadata = obj.get("metadata")
    if metadata is None:
        return
    if type(metadata) is not dict:
        raise ConversionError(("metadata",), f"must be an object, got {article(metadata)}")
    annotations = metadata.get("annotations")
    if annotations is not None and type(annotations) is not dict:
        raise ConversionError(("metadata", "annotations"), f"must be an object, got {article(annotations)}")


def _require_types(obj: Fields, name: str, version: str) -> None:
    """Raise for an object whose types are not those of the schema, which lenses couldn't read."""
    errors = decoder(name, version)(obj)
    if errors:
        path: Path = errors[0].path
        raise ConversionError(path, errors[0].message) from None
