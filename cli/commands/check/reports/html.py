"""The report as one page: summary by rule, a filter, findings in their source, pictures of graphs, and the pages of the rules.

The page fetches nothing. Manifests are not trusted: all their texts are escaped, and the page's policy allows only its own two scripts
and styles, by their hashes; pictures are images, which run nothing. It has at most MOST characters of findings.
"""

import base64
import hashlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Final

from .....api.wording import count_of, escape_unprintable, rule_address
from ....console.escaping import plain, unicode_text
from ....console.exits import UsageError
from ....files.revision import commit_of, root_of
from ....validation.finding import LocatedFinding
from ...explain.rule import find
from ...picture.formats import svg
from ...picture.parts import Picture
from ..result import Result, by_rule
from .shared import LEVELS, count_levels, group_notes, relative, report_root
from .text import COLUMNS, escape_terminal, format_summary, split_line

MAX_FINDINGS_CHARACTERS: Final = 8_000_000
ROWS: Final = 1_000  # of each list
AROUND: Final = 2  # lines of source before and behind a finding
_CODE: Final = re.compile(r"`([^`]+)`")
# in the reader's light or dark theme
_HEAD: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" \
content="default-src 'none'; img-src data:; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>dynamo-webhooks check</title>"""
_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1f2328;--dim:#59636e;--page:#fff;--card:#f6f8fa;--line:#d1d9e0;--link:#0550ae;
--error:#b3151f;--warning:#7d4e00;--mark:#ffd9d6;--markline:#fff4f3}
@media(prefers-color-scheme:dark){:root{--ink:#f0f6fc;--dim:#9198a1;--page:#0d1117;--card:#151b23;--line:#3d444d;--link:#71b1ff;
--error:#ff8a84;--warning:#e3b341;--mark:#7d2a2f;--markline:#2a1a1d}}
*{box-sizing:border-box}body{margin:0 auto;max-width:72rem;padding:1.5rem;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}h2{font-size:1.2rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:1.5rem 0 .5rem;overflow-wrap:anywhere}
h4{margin:.75rem 0 .25rem}p{margin:.4rem 0}a{color:var(--link)}code,pre,.frame{font:13px/1.45 ui-monospace,monospace}
table{border-collapse:collapse}th,td{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--line)}
td.n,th.n{text-align:right}td{overflow-wrap:anywhere}
article{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.75rem 1rem;margin:.75rem 0;overflow-wrap:anywhere}
.level{font-weight:600}.error,.fault{color:var(--error)}.warning{color:var(--warning)}.dim{color:var(--dim)}
pre,.frame{overflow-x:auto;margin:.5rem 0;border:1px solid var(--line);border-radius:6px;background:var(--page)}
pre{padding:.5rem}.frame div{white-space:pre;padding:0 .5rem}.frame .hit{background:var(--markline)}
.frame i{display:inline-block;width:4rem;font-style:normal;color:var(--dim);text-align:right;padding-right:1rem;user-select:none}
mark{background:var(--mark);color:inherit;border-radius:3px}
#filter{position:sticky;top:0;background:var(--page);border-bottom:1px solid var(--line);padding:.5rem 0;display:flex;gap:1rem;
flex-wrap:wrap;align-items:center;z-index:1}#filter[hidden],.gone{display:none}
input[type=search]{font:inherit;padding:.3rem .6rem;border:1px solid var(--line);border-radius:6px;background:var(--card);color:var(--ink);
min-width:16rem}
button{font:inherit;color:var(--link);background:none;border:0;padding:0;cursor:pointer;text-decoration:underline}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
img{max-width:100%;height:auto;border:1px solid var(--line);border-radius:8px;margin:.5rem 0;display:block}
"""
_SCRIPT: Final = """
"use strict";
const bar = document.getElementById("filter"), words = document.getElementById("words"), count = document.getElementById("count");
const levels = [...bar.querySelectorAll("[type=checkbox]")];
const files = [...document.querySelectorAll("section.file")].map(
  file => [file, [...file.querySelectorAll("article")].map(one => [one, one.textContent.toLowerCase()])]);
function sift() {
  const wanted = words.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const asked = new Set(levels.filter(one => one.checked).map(one => one.value));
  let shown = 0, all = 0;
  for (const [file, findings] of files) {
    let here = 0;
    for (const [one, text] of findings) {
      const fits = asked.has(one.dataset.level) && wanted.every(word => text.includes(word));
      one.classList.toggle("gone", !fits);
      here += fits;
      all += 1;
    }
    file.classList.toggle("gone", !here);
    shown += here;
  }
  count.textContent = `${shown} of ${all} shown`;
}
bar.hidden = false;
bar.addEventListener("input", sift);
document.addEventListener("click", event => {
  const word = event.target.dataset && event.target.dataset.word;
  if (!word) return;
  words.value = word;
  sift();
  bar.scrollIntoView();
});
sift();
"""


def document(result: Result, folder: str = "") -> str:
    """The whole page; `folder` is where file names are relative to, by default `report_root`."""
    here = folder or report_root()
    files = [(relative(name, here), list(group)) for name, group in groupby(result.findings, lambda one: one.source.name)]
    unread = [
        f"{relative(error.name, here) if error.name else 'input'}{f':{error.line}' if error.line else ''}: {error.text}"
        for error in result.unreadable
    ]
    body = [
        f"<header><h1>dynamo-webhooks check</h1><p>{_text(format_summary(result))}.</p>"
        f'<p class="dim">{_text(_describe_origin(here))}</p></header>',
        *_by_rule(result),
        *_findings(files),
        *_pictures(result.pictures),
        *_list("Not drawn", list(result.undrawn)),
        *_list("Not checked", [*unread, *result.unreachable]),
        *_list("Not evaluated", [note.sentence for note in group_notes(result.not_evaluated)]),
        *_list("Accepted", [f"{one.finding.rule}: {one.finding.about}: {one.reason} ({one.by})" for one in result.suppressed]),
        *_pages(sorted({one.rule for one in result.findings}), result.site),
    ]
    style, script = (f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in (_STYLE, _SCRIPT))
    head = _HEAD.format(style=style, script=script)
    return unicode_text(
        "\n".join([head, f"<style>{_STYLE}</style>\n</head>\n<body>", *body, f"<script>{_SCRIPT}</script>", "</body>", "</html>", ""])
    )


def _describe_origin(folder: str) -> str:
    """The report's date, and its commit if the folder is in a repository."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")  # as builds set it that can be repeated
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(int(epoch) if epoch.isdecimal() else None))
    try:
        root = root_of(os.path.realpath(folder))
        return f"{when}, commit {commit_of(root, 'HEAD', '-o html')[:12]}" if root else when
    except UsageError:  # no commit yet, or no git
        return when


def _text(text: str) -> str:
    """Escape an untrusted text, so that it is never read as markup."""
    return escape(escape_unprintable(text))


def _lines(text: str) -> str:
    """Escape several lines as HTML."""
    return escape(plain(text))


def _prose(text: str) -> str:
    """Escape prose as HTML; words in backticks become code."""
    return _CODE.sub(r"<code>\1</code>", _text(text))


def _link(rule: str, code: str) -> str:
    return f'<a href="#rule-{escape(rule)}">{escape(rule)}</a> <span class="dim">{escape(code)}</span>'


def _by_rule(result: Result) -> Iterator[str]:
    rows = by_rule(result)
    if not rows:
        return
    yield '<section id="rules"><h2>By rule</h2><table>'
    yield '<tr><th>Rule</th><th>Level</th><th class="n">Findings</th><th class="n">Files</th></tr>'
    for row in rows:
        rule = _link(row.rule, row.code)
        count = f'<button type="button" data-word="{escape(row.rule)}" title="show only these">{row.findings}</button>'
        yield f'<tr><td>{rule}</td><td class="{row.level}">{row.level}</td><td class="n">{count}</td><td class="n">{row.files}</td></tr>'
    yield "</table></section>"


def _pictures(pictures: Sequence[Picture]) -> Iterator[str]:
    if not pictures:
        return
    images = []
    for one in pictures:
        data = base64.b64encode(unicode_text(svg([one])).encode()).decode()
        images.append(f'<img alt="{_text(one.title)}" src="data:image/svg+xml;base64,{data}">')
    yield f'<section id="pictures"><h2>Graphs</h2><details open><summary>{count_of(len(images), "graph")}</summary>'
    yield from images
    yield "</details></section>"


def _findings(files: list[tuple[str, list[LocatedFinding]]]) -> Iterator[str]:
    """The findings file by file, as far as there is room."""
    if not files:
        return
    boxes = "".join(f'<label><input type="checkbox" value="{level}" checked> {level}</label>' for level in LEVELS)
    yield '<section id="findings"><h2>Findings</h2>'
    search = '<input type="search" id="words" placeholder="rule, object, field or word" aria-label="filter">'
    yield f'<div id="filter" hidden>{search}{boxes}<span id="count" class="dim" role="status"></span></div>'
    room, left = MAX_FINDINGS_CHARACTERS, 0
    for name, findings in files:
        blocks = []
        for one in findings:
            block = _finding(one) if room > 0 else ""
            room -= len(block)
            blocks += [block] if block and room >= 0 else []
        left += len(findings) - len(blocks)
        if blocks:
            yield f'<section class="file"><h3>{_text(name)}: {count_levels(findings)}</h3>'
            yield from blocks
            yield "</section>"
    if left:
        yield f"<p>{count_of(left, 'more finding')} left out: -o json has all of them.</p>"
    yield "</section>"


def _finding(one: LocatedFinding) -> str:
    line, column, _ = one.position
    rule = _link(one.rule, one.code)
    head = f'<span class="level {one.level}">{one.level}</span> {rule} <span class="dim">line {line}, column {column}, {one.stage}</span>'
    about = "  ".join(part for part in (str(one.identity or ""), one.path) if part)
    parts = [f'<article data-level="{one.level}"><div>{head}</div>']
    parts += [f"<p><code>{_text(about)}</code></p>"] if about else []
    parts += [f"<p>{_text(one.sentence)}</p>"]
    parts += [f'<p class="dim">also {_text(str(also))}: {_text(also.message)}</p>' for also in one.also]
    parts += [f'<div class="frame">{"".join(_frame(one))}</div>', f"<p>Fix: {_prose(one.fix)}</p>" if one.fix else ""]
    return "\n".join([*filter(None, parts), "</article>"])


def _frame(one: LocatedFinding) -> Iterator[str]:
    """The line of a finding with its marked part, and lines around it; long lines are cut around the mark."""
    lines, line = one.source.lines, one.position.line
    for number in range(max(1, line - AROUND), min(len(lines), line + AROUND) + 1):
        text = lines[number - 1]
        if number != line:
            yield f"<div><i>{number}</i>{escape(escape_terminal(text[:COLUMNS]))}</div>"
            continue
        before, marked, rest = map(escape, split_line(text, one.position))
        words = f"{before}<mark>{marked or ' '}</mark>{rest}"
        yield f'<div class="hit"><i>{number}</i>{words}</div>'


def _list(title: str, lines: list[str]) -> Iterator[str]:
    if not lines:
        return
    yield f"<section><h2>{title}</h2><ul>"
    yield from (f"<li>{_text(line[:2_000])}</li>" for line in lines[:ROWS])
    yield "</ul>"
    yield f"<p>{len(lines) - ROWS} more.</p></section>" if len(lines) > ROWS else "</section>"


def _pages(rules: list[str], site: str) -> Iterator[str]:
    """The pages of the rules that found something, so that links need no network."""
    if not rules:
        return
    yield '<section id="pages"><h2>Rules</h2>'
    for page in filter(None, map(find, rules)):
        rule, address = escape(page["rule"]), escape(rule_address(site, page["rule"]))
        yield f'<article id="rule-{rule}"><h3>{rule} <span class="dim">{escape(page["code"])}</span></h3>'
        yield f"<p>{_prose(page['title'])}</p><p><b>Why.</b> {_prose(page['why'])}</p>"
        if page["fix"]:
            yield f"<p><b>Fix.</b> {_prose(page['fix'])}</p>"
        for name, blocks in page["examples"].items():
            yield from (f"<h4>{escape(name.capitalize())}</h4><pre>{_lines(block)}</pre>" for block in blocks)
        if address:
            yield f'<p><a href="{address}">{address}</a></p>'
        yield "</article>"
    yield "</section>"
