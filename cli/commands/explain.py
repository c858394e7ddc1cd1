"""The command `explain`: a rule, a kind, a field path, or a pasted server message."""

from __future__ import annotations

import argparse

HELP = "explain a rule, a kind, a field path or a pasted server message"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("words", nargs="+", metavar="WORD", help="a rule's name or code, a kind, a field path, or a server message")
    parser.add_argument("-o", "--output", choices=("markdown", "json"), default="markdown", help="the format")
    parser.add_argument("--examples", action="store_true", help="print the examples of rules too")


def run(arguments: argparse.Namespace) -> int:
    """Prints the page, or one page for each rule that a message names.

    Raises: UsageError for a word that means nothing, with the nearest one.
    """
    import orjson

    from cli.exits import OK
    from cli.output import write

    text = " ".join(arguments.words)
    pages, shown = _pages(text, examples=arguments.examples)
    if arguments.output == "json":
        write(orjson.dumps(pages, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        write("\n".join(shown))
    return OK


def _pages(text: str, *, examples: bool) -> tuple[list[dict[str, object]], list[str]]:
    """The pages that a text asks for, as data and as Markdown."""
    from cli.explain import field, rule

    found = rule.find(text)
    rules = [found] if found is not None else rule.in_message(text)
    if rules:
        return rules, [rule.markdown(page, examples=examples) for page in rules]
    place = field.find(text)
    if place is not None:
        return [place], [field.markdown(place)]
    raise _unknown(text)


def _unknown(text: str) -> Exception:
    from api.kinds import KINDS
    from cli.exits import UsageError
    from cli.explain.rule import names
    from cli.nearest import hint

    known = [*names(), *(kind.name for kind in KINDS)]
    shown = text if len(text) <= 80 else text[:79] + "\N{HORIZONTAL ELLIPSIS}"
    return UsageError(f"{shown}: neither a rule, a kind, a field of a kind, nor a message with a rule in brackets{hint(text, known)}")
