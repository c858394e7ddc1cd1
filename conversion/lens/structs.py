"""Reads structs leniently: absent values, null and values of a wrong type are empty."""

from __future__ import annotations

from typing import Any, Final

from .protocol import Fields

_NOTHING: Final[Fields] = {}


def object_of(value: Any) -> Fields:
    """The value if it is an object, else an empty one. Don't change it."""
    return value if type(value) is dict else _NOTHING


def object_member(struct: Fields, name: str) -> Fields:
    """An object member, or an empty one. Don't change it."""
    member = struct.get(name)
    return member if type(member) is dict else _NOTHING


def object_items(struct: Fields, name: str) -> list[Fields]:
    """The objects of a list member, or an empty list."""
    members = struct.get(name)
    if type(members) is not list:
        return []
    for item in members:
        if type(item) is not dict:
            return [item for item in members if type(item) is dict]
    return members


def present(struct: Fields) -> Fields:
    """The members that aren't null."""
    return {name: value for name, value in struct.items() if value is not None}
