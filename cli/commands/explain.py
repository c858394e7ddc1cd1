"""The command `explain`: a rule, a kind of today or of the first releases, a field path, a fact, or a pasted server message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynamo_webhooks.cli import flags

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

HELP = "explain a rule, a field, a kind, a fact or a pasted server message"
_EXAMPLES = """\
examples:
  dynamo-webhooks explain replicas-non-negative --examples
  dynamo-webhooks explain 'spec.services.*.failover'
  kubectl apply -f graph.yaml 2>&1 | dynamo-webhooks explain -
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    import argparse

    from dynamo_webhooks.cli.main import width

    parser.epilog = _EXAMPLES
    parser.formatter_class = lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=width())
    words = "rule name or code, kind, field path, fact, or server message (- for standard input)"
    parser.add_argument("words", nargs="*", metavar="WORD", help=words)
    parser.add_argument("-o", "--output", choices=("markdown", "json"), default="markdown", help="format (default %(default)s)")
    parser.add_argument("--examples", action="store_true", help="also print the examples of rules")
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the page, or a page for each thing that a message says.

    Raises: UsageError for no word, or one that means nothing, with the nearest one.
    """
    import orjson

    from dynamo_webhooks.cli.exits import OK, UsageError
    from dynamo_webhooks.cli.output import write

    text = _given() if arguments.words == ["-"] else " ".join(arguments.words)
    if not text.strip():
        where = "nothing came in on standard input; " if arguments.words == ["-"] else ""
        raise UsageError(f"{where}name a rule, a kind, a field or a message, such as replicas-non-negative, dgd.spec or 'x509: ...'")
    pages, shown = _pages(text, examples=arguments.examples)
    if arguments.output == "json":
        write(orjson.dumps(pages, option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        write("\n".join(shown))
    return OK


def _given() -> str:
    """What stands on standard input."""
    import sys

    return sys.stdin.buffer.read().decode("utf-8", "replace").strip()


def _pages(text: str, *, examples: bool) -> tuple[list[dict[str, Any]], list[str]]:
    """The pages that a text asks for, as data and as Markdown."""
    from dynamo_webhooks.cli.explain import message, rule, words

    for find, markdown in _single():
        page = find(text)
        if page is not None:
            page = rule.placed(page) if "rule" in page else page
            return [page], [markdown(page, examples)]
    pages = [rule.placed(page) if "rule" in page else page for page in message.find(text)]
    if pages:
        return pages, [words.markdown(page) if "message" in page else rule.markdown(page, examples=examples) for page in pages]
    raise _unknown(text)


def _single() -> Iterator[tuple[Callable[[str], dict[str, Any] | None], Callable[[dict[str, Any], bool], str]]]:
    """What a text may name as a whole, in the order in which it is tried: who finds it, and who writes its page."""
    from dynamo_webhooks.cli.explain import fact, field, kind, legacy, rule

    yield rule.find, lambda page, examples: rule.markdown(page, examples=examples)
    yield kind.find, lambda page, _: kind.markdown(page)
    yield legacy.find, lambda page, _: legacy.markdown(page)
    yield fact.find, lambda page, _: fact.markdown(page)
    yield field.find, lambda page, _: field.markdown(page)
    yield legacy.field, lambda page, _: legacy.markdown(page)


def _unknown(text: str) -> Exception:
    """The answer to a text that means nothing: fields of that name, or the nearest word."""
    from dynamo_webhooks.api.kinds import KINDS
    from dynamo_webhooks.api.wording import printable
    from dynamo_webhooks.cli.exits import UsageError
    from dynamo_webhooks.cli.explain.field import corrected, named
    from dynamo_webhooks.cli.explain.rule import names
    from dynamo_webhooks.cli.legacy.kinds import KINDS as LEGACY
    from dynamo_webhooks.cli.nearest import hint
    from dynamo_webhooks.policies.facts import Facts

    line = printable(" ".join(text[:200].split()))
    shown = line if len(line) <= 80 else line[:79] + "\N{HORIZONTAL ELLIPSIS}"
    paths = named(text, 3)
    path = corrected(text) if len(text) <= 200 else None
    known = [*names(), *(kind.name for kind in KINDS), *LEGACY, *Facts._fields]
    near = f"; a field of that name is {', '.join(paths)}" if paths else f"; did you mean {path}?" if path else hint(text, known)
    return UsageError(f"{shown}: neither a rule, a kind, a field of a kind, nor a message that we know{near}")
