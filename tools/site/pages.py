"""All that mkdocs is given, by file below one folder: pages, navigation, scripts, styles (`python -m tools.site.pages [--playground]`)."""

import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from html import escape
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any, Final, TypeAlias

from dynamo_webhooks.api.kinds import list_kind_versions
from dynamo_webhooks.api.schema import Node, whole_schema
from dynamo_webhooks.cli.commands.completion.candidates import list_actions
from dynamo_webhooks.cli.commands.explain.cause import load_operator_messages
from dynamo_webhooks.cli.commands.explain.field import describe_field, format_field
from dynamo_webhooks.cli.commands.explain.message import KnownMessage, load_tables
from dynamo_webhooks.cli.commands.explain.sentence import read_texts
from dynamo_webhooks.cli.console.program import COMMANDS
from dynamo_webhooks.cli.project.keys import KEYS
from dynamo_webhooks.policies.catalogue import list_all, list_declared
from dynamo_webhooks.policies.rule import Rule
from tools.manual.markdown import format_table
from tools.manual.rules import format_level, format_span
from tools.written import ROOT, update

_HEADS: Final = ("code", "rule", "title", "level", "line", "1.2")
_NONE: Final = "none"  # of rules that look at no field, or need no fact


def format_index() -> str:
    """The filters, and a row for each rule, default and check."""
    rows = [(rule, _facets(rule)) for rule in list_all()]
    names = list(rows[0][1])
    selects = "".join(_select(name, (value for _, facets in rows for value in facets[name])) for name in names)
    words = '<label>words<input type="search" name="words"></label>'
    heads = "".join(f"<th>{name}</th>" for name in _HEADS)
    body = "\n".join(_row(rule, facets) for rule, facets in rows)
    form = f'<form class="filters" hidden>{selects}{words}</form>\n<p id="shown" role="status"></p>'
    return f"{form}\n<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _facets(rule: Rule) -> dict[str, list[str]]:
    """Lists the facets that a rule is filtered by, each with its values."""
    kinds = [kind.partition("/") for kind in rule.where]
    return {
        "kind": [kind for kind, _, _ in kinds] or [_NONE],
        "version": [version for _, _, version in kinds] or [_NONE],
        "level": [format_level(rule)],
        "operation": rule.operations or [_NONE],
        "facts": list(rule.needs) or [_NONE],
        "since": [str(rule.lines[0])],
        "until": [str(rule.lines[-1])],
        "operator": ["differs" if rule.difference else "agrees"],
    }


_LABELS: Final = {"since": "since operator", "until": "before operator", "operator": "Go operator 1.2"}


def _select(name: str, values: Iterable[str]) -> str:
    options = "".join(f'<option value="{value}">{value}</option>' for value in sorted(set(values)))
    return f'<label>{_LABELS.get(name, name)}<select name="{name}"><option value="">any</option>{options}</select></label>'


def _row(rule: Rule, facets: dict[str, list[str]]) -> str:
    data = " ".join(f'data-{name}="{" ".join(dict.fromkeys(values))}"' for name, values in facets.items())
    link = f'<a href="{rule.name}/"><code>{rule.name}</code></a>'
    differs = "differs" if rule.difference else ""
    cells = (rule.code, link, escape(rule.title.rstrip(".")), facets["level"][0], format_span(rule), differs)
    return f'<tr data-rule="{rule.name}" {data}>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


# the pages of the fields of all kinds, and of the keys of a project file: a heading, and so an address, for each
Steps: TypeAlias = tuple[str, ...]
WILD: Final = "*"
_PROJECT_FILE: Final = "fields/project-file"
_CODE: Final = re.compile(r"`[^`]*`|<")
_RULE: Final = re.compile(r"^- `([a-z0-9-]+)`(?= \(DYN)", re.MULTILINE)


def make_field_pages() -> dict[str, str]:
    """The pages by file: one for each version of a kind, one for the project file."""
    kinds = {f"fields/{kind.lower()}-{version}.md": _page(kind, version) for kind, version in list_kind_versions()}
    return {**kinds, f"{_PROJECT_FILE}.md": _project_file()}


def make_anchor(path: Steps) -> str:
    """The anchor of a field on the page of its kind: its path, without wildcards."""
    return ".".join(step for step in path if step != WILD)


def list_own_fields(kind: str, version: str) -> Iterator[Steps]:
    """The fields that this API declares, in the order of the schema; below a field of one of Kubernetes' types are none."""
    yield from _below(whole_schema(kind, version), ())


def _below(node: Node, path: Steps) -> Iterator[Steps]:
    for name, below in (node.get("properties") or {}).items():
        yield (*path, name)
        yield from _below(below, (*path, name))
    for word in ("items", "additionalProperties"):
        if isinstance(entry := node.get(word), dict):
            yield from _below(entry, (*path, WILD))


@cache
def _addresses(kind: str, version: str) -> frozenset[str]:
    return frozenset(make_anchor(path) for path in list_own_fields(kind, version))


def _page(kind: str, version: str) -> str:
    intro = (
        "This page lists all fields of the kind: type, meaning, default, allowed values by operator release, the field of the other "
        "version, and the rules that are nearest to it. `kubectl explain` shows the fields of Kubernetes' own types below them."
    )
    sections = (_section(kind, version, path) for path in list_own_fields(kind, version))
    return "\n\n".join(["---\nhide: [toc]\n---", f"# {kind} {version}", intro, *sections]) + "\n"


def _section(kind: str, version: str, path: Steps) -> str:
    """One field: its path, and what `explain` prints about it, with links."""
    location = describe_field(kind, version, path)
    assert location is not None, path  # noqa: S101 - the path is of the schema
    text = _RULE.sub(lambda match: f"- [`{match[1]}`](../rules/{match[1]}.md)", "\n\n".join(format_field(location)))
    text = _CODE.sub(lambda match: match[0] if match[0] != "<" else "&lt;", text)
    other = location["other"]
    # else the other field is within one of Kubernetes' types
    if other and (there := make_anchor(tuple(other["path"].split(".")))) in _addresses(kind, other["version"]):
        beside = f"In {other['version']}: "
        link = f"[`{other['path']}`]({kind.lower()}-{other['version']}.md#{there})"
        text = text.replace(f"{beside}`{other['path']}`", beside + link)
    return f"### `{'.'.join(path)}` {{ #{make_anchor(path)} }}\n\n{text}"


def _project_file() -> str:
    rows = [(key.name, key.means, key.flag) for key in KEYS]
    cells = ((f'<span id="{name}">`{name}`</span>', means, f"`{flag}`" if flag else "") for name, means, flag in rows)
    intro = "This page lists the keys of `.dynamo-webhooks.yaml`; [how to use it](../ci.md#a-project-file)."
    return f"# Project file\n\n{intro}\n\n{format_table('key | meaning | flag that wins', cells)}\n"


THEME: Final = Path(__file__).with_name("theme")
TOP: Final = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")  # pages beside docs/ that belong to the site
SETTINGS: Final = "mkdocs.yml"
_BESIDE: Final = "../../tools/site"  # of the settings that are written
_RULES: Final = re.compile(r"<!-- made: rules -->.*?<!-- end -->", re.DOTALL)
_LINK: Final = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_BLOCK: Final = re.compile(r"(^(`{3,}).*?^\2 *$)", re.MULTILINE | re.DOTALL)
_KEY: Final = re.compile(r"^\| `([\w.]+)`( \+)? \|", re.MULTILINE)
_FLAG: Final = re.compile(r"^\| `((?:-\w, )?--([\w-]+)[^`]*)` \|", re.MULTILINE)
_VALUE: Final = re.compile(r', got "[^"]+"')  # which says nothing of the rule
_OUTER: Final = re.compile(r"\]\(([A-Z]+(?:\.md)?)\b")  # of the README, to a file beside it
_GROUP: Final = re.compile(r"^\*\*For (.+)\*\*$")


def make_site_files(*, playground: bool) -> dict[str, bytes]:
    """Every file by its name: pages and what they show below `pages/`, the settings beside it."""
    sources = _sources()
    texts = {name: data.decode() for name, data in sources.items() if name.endswith(".md")}
    texts |= {"README.md": _home(texts["README.md"]), **make_field_pages()}
    pages = {name: _for_site(name, text, texts.keys()).encode() for name, text in texts.items()}
    theme = {file.name: file.read_bytes() for file in sorted(THEME.iterdir())}
    settings = {
        "INHERIT": f"{_BESIDE}/{SETTINGS}",
        "hooks": [f"{_BESIDE}/hooks.py"],
        "theme": {"custom_dir": f"{_BESIDE}/overrides"},
        "nav": make_navigation(texts, playground=playground),
    }
    texts_of_rules = {"messages.json": json.dumps(make_answers(), separators=(",", ":")).encode()}
    files = {f"pages/{name}": data for name, data in {**sources, **pages, **theme, **texts_of_rules}.items()}
    return {**files, SETTINGS: json.dumps(settings, indent=1).encode()}


def _home(index: str) -> str:
    """The first page: what the repository's README says, with links as from docs/, and then the list of all pages."""
    readme = _OUTER.sub(r"](../\1", (ROOT / "README.md").read_text("utf-8").replace("](docs/", "]("))
    return f"{readme}\n## All pages\n{index.partition(chr(10))[2]}"


def _sources() -> dict[str, bytes]:
    docs = ROOT / "docs"
    files = {file.relative_to(docs).as_posix(): file for file in sorted(docs.rglob("*")) if file.is_file()}
    return {name: file.read_bytes() for name, file in {**files, **{name: ROOT / name for name in TOP}}.items()}


def make_navigation(texts: dict[str, str], *, playground: bool) -> list[Any]:
    """The pages that docs/README.md lists, in its groups, and those that only the site has."""
    groups: dict[str, list[Any]] = {}
    group, seen = "", {"README.md"}
    for line in texts["README.md"].splitlines():
        if match := _GROUP.match(line):
            group = match[1][0].upper() + match[1][1:]
        for _, target in _LINK.findall(line) if group else ():
            page = normpath(target.partition("#")[0]).removeprefix("../")
            if page in texts and page not in seen:
                seen.add(page)
                groups.setdefault(group, []).append({_title(texts[page]): page})
    sections = [{"Playground": "playground/"}] if playground else []
    commands = [{name.partition("/")[2].removesuffix(".md"): name} for name in sorted(texts) if name.startswith("commands/")]
    fields = [{_title(texts[name]): name} for name in sorted(texts) if name.startswith("fields/")]
    more = [
        {"Reference": [{"Commands": commands}, {"Fields and keys": fields}]},
        *({_title(texts[name]): name} for name in TOP if name not in seen),
    ]
    return [{"Start": "README.md"}, *sections, *({name: pages} for name, pages in groups.items()), *more]


def _title(text: str) -> str:
    return next(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))


def _for_site(name: str, text: str, known: Collection[str]) -> str:
    """A page as the site shows it: links within the site, and an address for each thing that it lists."""
    if name == "rules.md":
        text = _RULES.sub(lambda _: format_index(), text)
    elif name.startswith("rules/"):
        text = "\n\n".join([text.rstrip(), *_messages(name.removeprefix("rules/").removesuffix(".md"))]) + "\n"
    elif name == "refusals.md":
        for entry in list_known():
            text = text.replace(f"| `{entry.shown}` |", f'| <span id="{entry.name}">`{entry.shown}`</span> |')
    elif name == "configuration.md":
        text = _KEY.sub(r'| <span id="\1">`\1`</span>\2 |', text)
    elif name.startswith("commands/"):
        text = _FLAG.sub(r'| <span id="\2">`\1`</span> |', text)
    parts = _BLOCK.split(text)
    # a split gives the text before a block, the block, and its fence
    return "".join(_linked(name, part, known) if number % 3 == 0 else part for number, part in enumerate(parts) if number % 3 < 2)


def _linked(name: str, text: str, known: Collection[str]) -> str:
    """Links to pages below docs/ lead to those of the site; of links to other files of the repository the words stay."""
    at = dirname(name if name in TOP else join("docs", name))

    def replace(link: re.Match[str]) -> str:
        words, (path, mark, anchor) = link[1], link[2].partition("#")
        if not path or "://" in path:
            return link[0]
        target = normpath(join(at, path)).removeprefix("docs/")
        return f"[{words}]({relpath(target, dirname(name) or '.')}{mark}{anchor})" if target in known else words

    return _LINK.sub(replace, text)


@cache
def list_messages() -> dict[str, list[str]]:
    """The constant texts of each rule's messages, by which the search finds the rule of a pasted one."""
    unknown = "couldn't be evaluated: the fact {} is not known"
    return {
        rule.name: sorted(text for text in read_texts(rule).pieces if not _VALUE.fullmatch(text))
        + [unknown.format(fact) for fact in rule.needs]
        for rule in list_declared()
        if not rule.is_default
    }


def make_answers() -> dict[str, Any]:
    """Gathers what the search answers texts from, pasted or typed: messages of rules, the Go operator and the API server, and flags."""
    return {
        "rules": list_messages(),
        "operator": [
            [rule.name, [kind.partition("/")[0] for kind in rule.kinds], pieces]
            for rule, sentences in load_operator_messages().items()
            for pieces in sentences
        ],
        "known": [[entry.name, entry.shown, entry.rule.name if entry.rule else "", _for_script(entry.pattern)] for entry in list_known()],
        "transport": len(load_tables()["transport"]),  # those come first
        "flags": list_flags(),
    }


def list_known() -> list[KnownMessage]:
    """The messages that no rule writes, in the order in which they are looked for."""
    return [entry for table in load_tables().values() for entry in table]


def _for_script(pattern: str) -> str:
    """A pattern as JavaScript has it: there the start has another sign, and every repetition may be taken back."""
    return pattern.replace(r"\A", "^").replace(")*+", ")*")


def list_flags() -> dict[str, list[str]]:
    """The flags of all commands, and the commands that have each."""
    commands: dict[str, list[str]] = {}
    for name in COMMANDS:
        for action in list_actions(name):
            for option in action.option_strings:
                if option.startswith("--"):
                    commands.setdefault(option, []).append(name)
    return commands


def _messages(rule: str) -> Iterator[str]:
    """Yields the messages of a rule, for people who search for a message; values are left out."""
    texts = list_messages().get(rule)
    if texts:
        yield "## Messages"
        yield f"A refusal of this rule ends in `[{rule}]` and has some of these words:"
        yield "\n".join(f"- {text.replace('<', '&lt;').replace('*', chr(92) + '*')}" for text in texts)
    operator = [
        " ... ".join(pieces) for entry, messages_of in load_operator_messages().items() if entry.name == rule for pieces in messages_of
    ]
    if operator:
        yield "The Go operator says:"
        yield "\n".join(f"- {text.strip().replace('<', '&lt;')}" for text in operator)


def main(arguments: list[str]) -> None:
    """Writes the files into build/site-source, and removes those of an earlier run."""
    folder = ROOT / "build" / "site-source"
    files = {folder / name: data for name, data in make_site_files(playground="--playground" in arguments).items()}
    update(files, [], (file for file in folder.rglob("*") if file.is_file()))


if __name__ == "__main__":
    main(sys.argv[1:])
