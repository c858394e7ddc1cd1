"""A converting kind: the structs of its spec and status, and the annotation keys in which the Go operator keeps what one side can't say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from dynamo_webhooks.conversion.lens.protocol import Fields
from dynamo_webhooks.conversion.lens.struct import Struct

LEFT: Final = "v1alpha1"
RIGHT: Final = "v1beta1"
PREFIX: Final = "nvidia.com/"
Claims: TypeAlias = tuple[Struct, str, str]


class Legacy(NamedTuple):
    """Annotations of older operators: their keys, how they complete the remainder, and which ones an object that is converted gives.

    `read(annotations, rightward, spec, status)` gets the usable main remainders (None where there is none) and returns those to use;
    `write(source, rightward)` gets the object that is being read.
    """

    keys: tuple[str, ...]
    read: Callable[[Fields, bool, Fields | None, Fields | None], tuple[Fields | None, Fields | None]]
    write: Callable[[Fields, bool], dict[str, str]]


class Form(NamedTuple):
    """How an object converts that an API server has stored, or a part of one: it isn't completed."""

    object: Fields  # what of it is converted
    decode: Callable[[Fields], None] | None = None  # gives the converted parts the defaults of their schema
    part: bool = False  # whether it is a part
    stored: bool = True  # whether it is of an object that an API server has stored


class Kind(NamedTuple):
    """One declaration; the keys are those of the annotations that hold the remainders of spec and status, see `remainders`."""

    name: str
    spec_key: str
    status_key: str
    spec: Struct
    status: Struct
    legacy: Legacy | None = None  # reads and writes the annotations of operators 1.0 and 1.1 (requests only)
    # says in the parts built what the object read means by leaving it out: complete(source, parts, rightward)
    complete: Callable[[Fields, Fields, bool], None] | None = None
    # how an object converts that an API server has stored: form(object, rightward); None for any other
    form: Callable[[Fields, bool], Form | None] | None = None
    # whether every object that is in the version in which it wasn't written first carries a remainder, even an empty one
    marked: bool = False


def remainders(short: str) -> tuple[str, str]:
    """The two annotation keys of a kind, by the short name that the Go operator gives it there."""
    return f"{PREFIX}{short}-spec", f"{PREFIX}{short}-status"
