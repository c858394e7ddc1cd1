"""The command `explain`: a rule, a kind of today or of the first releases, a field path, a fact, or a pasted server message."""

import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final, NamedTuple

import orjson

from ....api.kinds import BY_NAME
from ....api.wording import escape_unprintable
from ....policies.facts import Facts
from ...console import flags
from ...console.escaping import encode_json
from ...console.exits import OK, UsageError
from ...console.nearest import did_you_mean
from ...console.options import argument, switch
from ...console.output import write_stdout
from ...project.apply import RULES_FROM, apply_project, load_own_rules
from ...project.keys import USER
from ...project.options import ProjectOptions
from . import field, kind, message, rule

HELP = "explain a rule, a field, a kind, a fact or a pasted server message"
EPILOG: Final = """\
examples:
  dynamo-webhooks explain replicas-non-negative --examples
  dynamo-webhooks explain 'spec.services.*.failover'
  kubectl apply -f graph.yaml 2>&1 | dynamo-webhooks explain -
"""


class Options(NamedTuple):
    """Flags and arguments."""

    words: Annotated[
        tuple[str, ...],
        argument("rule name or code, kind, field path, fact, or server message (- for standard input)", "WORD", nargs="*"),
    ] = ()
    output: Annotated[str, flags.output("markdown", "json")] = "markdown"
    examples: Annotated[bool, switch("also print the examples of rules")] = False
    project: ProjectOptions = ProjectOptions()


def run(options: Options) -> int:
    """Prints a page for each thing that the words mean. Raises: UsageError, with the nearest word, where that is nothing."""
    given = options.words == ("-",)
    text = sys.stdin.buffer.read().decode("utf-8", "replace").strip() if given else " ".join(options.words)
    if not text.strip():
        where = "nothing came in on standard input; " if given else ""
        raise UsageError(f"{where}name a rule, a kind, a field or a message, such as replicas-non-negative, dgd.spec or 'x509: ...'")
    of_message = message.names_policy(text)
    of_policy = USER in text or of_message
    project = apply_project(options, ("site", *((RULES_FROM,) if of_policy else ())), ()).project
    if of_policy:
        load_own_rules(project, problems=[] if of_message else None)
    pages, shown = _pages(text, project.value("site") or "", examples=options.examples)
    if options.output == "json":
        write_stdout(encode_json(pages, orjson.OPT_INDENT_2) + "\n")
    else:
        write_stdout("\n".join(shown))
    return OK


def _pages(text: str, site: str, *, examples: bool) -> tuple[list[dict[str, Any]], list[str]]:
    """The pages that a text asks for, as data and as Markdown."""
    whole = rule.find(text) or kind.find(text) or kind.find_fact(text) or field.find(text)
    pages = [rule.complete_page(page, site) if "rule" in page else page for page in ([whole] if whole else message.find(text))]
    if not pages:
        raise _unknown(text)
    # by the first key of a page
    writers: dict[str, Callable[[dict[str, Any]], str]] = {
        "rule": partial(rule.markdown, examples=examples),
        "kind": kind.markdown,
        "fact": kind.fact_markdown,
        "field": field.markdown,
        "message": message.markdown,
    }
    return pages, [writers[next(iter(page))](page) for page in pages]


def _unknown(text: str) -> Exception:
    """The answer to a text that means nothing: fields of that name, or the nearest word."""
    line = escape_unprintable(" ".join(text[:200].split()))
    shown = line if len(line) <= 80 else line[:79] + "\N{HORIZONTAL ELLIPSIS}"
    paths = field.find_by_name(text, 3)
    path = field.correct_path(text) if len(text) <= 200 else None
    known = [*rule.list_names(), *BY_NAME, *Facts._fields]
    near = f"; a field of that name is {', '.join(paths)}" if paths else f"; did you mean {path}?" if path else did_you_mean(text, known)
    return UsageError(f"{shown}: not a rule, a kind, a field of a kind, or a message that we know{near}")
