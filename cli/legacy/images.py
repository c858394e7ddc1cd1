"""Images of legacy builds, as documents of the same run tell them; and what a component needs that its build once held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.cli.legacy.recognise import BUILDS, recognised

if TYPE_CHECKING:
    from collections.abc import Iterable

_NEEDED: Final = ("image", "command")


def image_of(reference: object, namespace: object, others: Iterable[object]) -> str | None:
    """The image of the build that a reference names; None when no document tells it, or several tell different ones."""
    if not isinstance(reference, str):
        return None
    found = {
        spec["image"]
        for other in others
        if recognised(other) in BUILDS
        and isinstance(other, dict)
        and isinstance(spec := other.get("spec"), dict)
        and isinstance(spec.get("image"), str)
        and spec["image"]
        and _metadata(other).get("namespace") == namespace
        and _plain(reference) in {_plain(_metadata(other).get("name")), _plain(spec.get("dynamoComponent"))}
    }
    return found.pop() if len(found) == 1 else None


def has_image(component: dict[str, Any]) -> bool:
    """Whether a component of today says which image it runs."""
    return "image" not in _missing(component)


def use(image: str, component: dict[str, Any]) -> None:
    """Gives a component of today an image."""
    component.setdefault("extraPodSpec", {}).setdefault("mainContainer", {})["image"] = image


def lacking(component: dict[str, Any]) -> list[str]:
    """What a component of today needs and this one doesn't say; the build held it."""
    fields = [] if component.get("componentType") else ["componentType (such as frontend or worker)"]
    return fields + [f"extraPodSpec.mainContainer.{name}" for name in _missing(component)]


def _missing(component: dict[str, Any]) -> list[str]:
    main = (component.get("extraPodSpec") or {}).get("mainContainer") or {}
    return [name for name in _NEEDED if not main.get(name)]


def _metadata(other: dict[str, Any]) -> dict[str, Any]:
    metadata = other.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _plain(reference: object) -> str | None:
    """A reference as the name of an object: builds are called `name:tag` in fields and `name--tag` as objects."""
    return reference.replace(":", "--") if isinstance(reference, str) else None
