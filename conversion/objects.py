"""Converts one object of whatever kind: finds its declaration, answers what can't be converted with a field and a reason. The wire and
the command line call this; how members correspond is the business of the engine and the declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.api.decode import decoder
from dynamo_webhooks.api.kinds import BY_NAME, GROUP
from dynamo_webhooks.api.wording import article
from dynamo_webhooks.conversion.engine import Converted, convert
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.lens.protocol import ConversionError

if TYPE_CHECKING:
    from dynamo_webhooks.api.paths import Path
    from dynamo_webhooks.conversion.lens.protocol import Fields

QUOTED: Final = 80  # characters of a name that an error repeats
_VERSIONS_OF: Final = {name: frozenset(version.name for version in kind.versions) for name, kind in BY_NAME.items()}


class Target(NamedTuple):
    """A desired apiVersion, taken apart once for a whole review."""

    api_version: str
    version: str
    ours: bool


def target(api_version: str) -> Target:
    """Reads `nvidia.com/v1beta1`; any other group is nobody's here."""
    group, _, version = api_version.partition("/")
    return Target(api_version, version, group == GROUP)


def convert_object(obj: object, wanted: Target, *, whole: bool = False) -> Converted:
    """Converts one object, or gives it back when it has the wanted version already: asking twice harms nobody. A `whole` conversion
    keeps what is too long for an API server.

    Raises: ConversionError naming the field and what is wrong with it; anything else is a bug of ours.
    """
    if type(obj) is not dict:
        raise ConversionError((), f"must be an object, got {article(obj)}")
    name, version = _identity(obj, wanted)
    _require_objects(obj)
    if version == wanted.version:
        return Converted(obj if obj.get("metadata") is not None else {**obj, "metadata": {}}, ())
    try:
        return convert(KINDS[name], obj, wanted.version, whole=whole)
    except ConversionError:
        raise
    except Exception:
        _require_types(obj, name, version)
        raise


def _identity(obj: Fields, wanted: Target) -> tuple[str, str]:
    """The kind and version of an object that can be converted as far as its names tell."""
    api_version, name = _text(obj, "apiVersion"), _text(obj, "kind")
    group, _, version = api_version.partition("/")
    known = _VERSIONS_OF.get(name) if group == GROUP else None
    if known is None:
        raise ConversionError(("kind",), _stranger(name, group))
    if version not in known:
        raise ConversionError(("apiVersion",), f'must be {_versions(name)} for {name}, got "{api_version[:QUOTED]}"')
    if not wanted.ours or wanted.version not in known:
        raise ConversionError(("apiVersion",), f'{name} exists as {_versions(name)}, not as "{wanted.api_version[:QUOTED]}"')
    return name, version


def _text(obj: Fields, field: str) -> str:
    value = obj.get(field)
    if type(value) is not str or not value:
        raise ConversionError((field,), "must be text that is not empty")
    return value


def _stranger(name: str, group: str) -> str:
    if group == GROUP and name.endswith("List") and name.removesuffix("List") in BY_NAME:
        return f"must be one object, got {name}: its items are converted one by one"
    return f'must be a kind of {GROUP}, got "{name[:QUOTED]}" of "{group[:QUOTED]}"'


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
    """Says what is wrong with an object that no lens could read because its types are not those of the schema."""
    errors = decoder(name, version)(obj)
    if errors:
        path: Path = errors[0].path
        raise ConversionError(path, errors[0].message) from None
