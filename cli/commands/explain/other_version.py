"""Finds a field's path in the other version by the lenses; for paths with `*` for keys and indices."""

from typing import Any, Final

from ....api.kinds import BY_NAME
from ....api.paths import Key, Path

WILD: Final = "*"
_NAME: Final = "NAME"  # a placeholder key on the way through the lenses
_MAIN: Final = "main"  # the container of which the flat fields of a component speak
_CONTAINERS: Final = "containers"
_HEADS: Final = ("apiVersion", "kind", "metadata")


def find_other_version(kind: str, version: str, path: tuple[str, ...], keyed: tuple[bool, ...]) -> dict[str, Any] | None:
    """The other version, the path there, and how the value gets there; None for a kind of a single version.

    `keyed` says for each step whether it is an entry of a map (else a `*` is one of a list). `exact` is false where the other version has
    no such field: `path` is the block around it then, and the value is kept in an annotation on the way there and back.
    """
    from ....conversion.kinds import KINDS
    from ....conversion.translate import translate_path

    other = BY_NAME[kind].other(version)
    if not other or kind not in KINDS or path[0] in _HEADS:
        return None
    steps: Path = tuple((Key(_NAME) if key else 0) if step == WILD else step for step, key in zip(path, keyed, strict=True))
    place = translate_path(KINDS[kind], steps, _example(steps), other, {})
    return {"version": other, "path": _shown(place.path), "exact": place.exact, "how": _how(kind, version, path)}


def _example(steps: Path) -> Any:
    """The smallest object with the path, with names in lists, by which lenses identify components and containers."""
    made: Any = {}
    for last, step in zip((*reversed(steps[:-1]), ""), reversed(steps), strict=True):
        if isinstance(step, int):
            made = [{"name": _MAIN if last == _CONTAINERS else _NAME, **made} if isinstance(made, dict) else made]
        else:
            made = {str(step): made}
    return made


def _shown(path: Path) -> str:
    """A path with `*` for names and indices; a container keeps its name, and keys with dots are in brackets."""
    text = ""
    for step in path:
        name = WILD if step == _NAME or isinstance(step, int) else str(step)
        bracket = "." in name or text.endswith(_CONTAINERS)
        text += f"[{name}]" if bracket else f".{name}" if text else name
    return text


def _how(kind: str, version: str, path: tuple[str, ...]) -> str:
    """What the map of fields says of the field, or of the nearest block around it."""
    from ....conversion.kinds import KINDS, field_rows

    own = ".".join(path)
    best, said = 0, ""
    for left, right, rule in field_rows(KINDS[kind]):
        for name in (left if version == "v1alpha1" else right).split(", "):
            plain = name.replace("{}", ".*").replace("[]", ".*").replace("[main]", ".*")
            if len(plain) > best and (own == plain or own.startswith(f"{plain}.")):
                best, said = len(plain), rule
    return said
