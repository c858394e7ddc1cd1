"""Hooks of a mkdocs build (its own interpreter has none of this project): smaller pages, and nothing that no page uses."""

import re
from pathlib import Path
from typing import Any

BLOCKS = re.compile(r"(<pre.*?</pre>|<script.*?</script>)", re.DOTALL)
# parts of the theme that no page has: a rule of style for them alone is left out
_UNUSED = re.compile(
    r"tabbed|admonition|footnote|details|summary|task-list|annotation|arithmatex|critic|emoji|mermaid|\.keys|\.grid"
    r"|md-(?:version|source|consent|post|author|banner|tabs|tags|feedback|status|social)|\[dir=rtl\]"
)
_RULE = re.compile(r"([^{}]+)\{[^{}]*\}")
_FOREIGN = ("assets/javascripts/lunr", "assets/javascripts/*.map", "assets/javascripts/workers/*.map", "assets/stylesheets/*.map")


def on_post_page(output: str, **_: Any) -> str:
    """Takes out the blank lines that templates leave, and names the search for those who don't see it."""
    output = output.replace('data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"')
    return "".join(part if part.startswith(("<pre", "<script")) else re.sub(r"\n\s+", "\n", part) for part in BLOCKS.split(output))


def on_post_build(config: Any) -> None:
    """Takes styles, languages of the search and maps of sources out of what the theme has copied."""
    site = Path(config["site_dir"])
    for file in site.glob("assets/stylesheets/*.css"):
        file.write_text(_RULE.sub(lambda rule: "" if _is_unused(rule[1]) else rule[0], file.read_text("utf-8")), "utf-8")
        _without_map(file)
    for file in site.glob("assets/javascripts/**/*.min.js"):
        _without_map(file)
    for pattern in _FOREIGN:
        for file in [entry for path in site.glob(pattern) for entry in (sorted(path.rglob("*")) if path.is_dir() else [path])]:
            if file.is_file():
                file.unlink()


def _is_unused(selectors: str) -> bool:
    return not selectors.startswith("@") and all(_UNUSED.search(selector) for selector in re.split(r",(?![^(]*\))", selectors))


def _without_map(file: Path) -> None:
    file.write_text(re.sub(r"(/\*|//)# sourceMappingURL=\S+( \*/)?\s*$", "", file.read_text("utf-8")), "utf-8")
