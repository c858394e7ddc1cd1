"""Flags and arguments as annotations of a named tuple's fields: declares them to argparse, and turns its result into a record.

    class Options(NamedTuple):
        paths: Annotated[tuple[str, ...], argument("files to read", "PATH", nargs="*")] = ()
        quiet: Annotated[bool, switch("no summary", "-q")] = False

A field that is a named tuple itself is a group of flags that several commands have.
"""

import argparse
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar

_Record = TypeVar("_Record")
HIDDEN: Final = argparse.SUPPRESS  # the text of a flag that help does not show
FlagError = argparse.ArgumentTypeError  # what the `type` of a flag raises; its text ends the sentence that names the flag


class Flag(NamedTuple):
    """The declaration of a field to argparse; an argument has no names."""

    names: tuple[str, ...] | None
    keywords: Mapping[str, Any]
    long: bool = True  # whether there is one
    former: Mapping[str, str] = {}  # other flags for the field, which scripts of earlier versions use, each with the value that it sets


def option(text: str, *words: str, long: bool = True, former: Mapping[str, str] = {}, **keywords: Any) -> Flag:
    """A flag with a value, whose help is `text`; `words` are its names, and the placeholder of its value.

    Its long name is that of the field, if it is `long` and no name is.
    """
    return Flag(tuple(word for word in words if word.startswith("-")), _merge_keywords(text, words, keywords), long, former)


def switch(text: str, *names: str) -> Flag:
    """A flag without a value."""
    return Flag(names, {"action": "store_true", "help": text})


def repeatable(text: str, *words: str, **keywords: Any) -> Flag:
    """A flag that may be repeated; the field is a tuple."""
    return option(text, *words, action="append", default=[], **keywords)


def argument(text: str, *words: str, **keywords: Any) -> Flag:
    """An argument; with `nargs="*"` the field is a tuple."""
    return Flag(None, _merge_keywords(text, words, keywords))


def _merge_keywords(text: str, words: tuple[str, ...], keywords: Mapping[str, Any]) -> dict[str, Any]:
    values = [word for word in words if not word.startswith("-")]
    return {"help": text, **({"metavar": values[0]} if values else {}), **keywords}


def declare(parser: argparse.ArgumentParser, kind: type, sections: Mapping[str, str] = {}) -> None:
    """Declares the fields of a record; `sections` has the titles of sections of the help, each at the field that begins it."""
    _declare(parser, parser, kind, sections)


def _declare(parser: argparse.ArgumentParser, target: argparse._ActionsContainer, kind: Any, sections: Mapping[str, str]) -> None:
    for name, annotation in kind.__annotations__.items():
        flag, default = _flag_of(annotation), kind._field_defaults.get(name)
        if name in sections:
            target = parser.add_argument_group(sections[name]) if sections[name] else parser
        if hasattr(default, "_fields"):
            _declare(parser, target, type(default), {})
        elif not isinstance(flag, Flag):
            continue
        elif flag.names is None:
            target.add_argument(name, **flag.keywords)
        else:
            long = () if any(each.startswith("--") for each in flag.names) or not flag.long else (f"--{name.replace('_', '-')}",)
            target.add_argument(*flag.names, *long, dest=name, **{"default": default, **flag.keywords})
            for former, value in flag.former.items():
                target.add_argument(former, dest=name, action="store_const", const=value, help=HIDDEN)


def _flag_of(annotation: Any) -> Any:
    return annotation.__metadata__[0] if hasattr(annotation, "__metadata__") else None


def read(kind: type[_Record], parsed: argparse.Namespace) -> _Record:
    """The record of argparse's result; lists become tuples."""
    known: Any = kind
    values: dict[str, Any] = {}
    for name, annotation in known.__annotations__.items():
        default = known._field_defaults.get(name)
        if hasattr(default, "_fields"):
            values[name] = read(type(default), parsed)
        elif isinstance(_flag_of(annotation), Flag) and name in parsed:
            value = getattr(parsed, name)
            values[name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)
