"""Upstream's manifests as files with comments: converted there and back, `check` finds nothing new, and no comment goes without a word."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import yaml

from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.cli.rewrite.emit import emit_yaml
from tests.cli.conftest import Command, Files, Ran, command, files
from tests.golden.upstream import RECORDED, accepted, manifests
from tests.laws.conftest import WHOLE
from tests.laws.laws import version_of
from tests.laws.managers.subjects import GRAPH

COUNT: Final = 150 if WHOLE else 50
EVERY: Final = 4  # lines from one comment to the next
__all__ = ["command", "files"]  # fixtures


def texts() -> Iterator[str]:
    """The first of upstream's graphs that an API server takes, with comments behind and above lines."""
    graphs = (graph for _, graph in manifests({GRAPH}, RECORDED) if accepted(graph))
    for number, (manifest, _) in enumerate(zip(graphs, range(COUNT), strict=False)):
        named = {**manifest, "metadata": {"name": f"g{number}", "namespace": f"n{number}"}}
        yield "".join(_commented(number, emit_yaml(named).splitlines()))


def _commented(number: int, lines: list[str]) -> Iterator[str]:
    inside = False
    for index, line in enumerate(lines):
        # a comment in a text of several lines would be a part of it
        inside = inside or line.endswith(("|", "|-", "|+", ">", ">-")) or line.count("'") % 2 == 1 or line.count('"') % 2 == 1
        if not inside and index % EVERY == 1 and line.lstrip("- ").partition(":")[0].isidentifier():
            if index % (2 * EVERY) == 1:
                yield f"{' ' * (len(line) - len(line.lstrip()))}# above-{number}-{index}\n"
                yield f"{line}\n"
            else:
                yield f"{line}  # behind-{number}-{index}\n"
        else:
            yield f"{line}\n"


def comments(folder: Path) -> list[str]:
    """All of them, in all files."""
    return [
        comment
        for file in sorted(folder.glob("*.yaml"))
        for comment in re.findall(r"# ((?:above|behind)-\d+-\d+)$", file.read_text(), re.MULTILINE)
    ]


def found(command: Command) -> set[tuple[str, str]]:
    """The files and rules of what `check` finds."""
    report = command("check", ".", "-o", "json", "--line", "1.2").json
    assert report["summary"]["objects"] == COUNT
    return {(finding["file"], finding["rule"]) for finding in report["findings"]}


def not_kept(ran: Ran) -> int:
    """How many comments a conversion said that it could not keep."""
    more = sum(int(number) for number in re.findall(r": (\d+) more comments could not be kept", ran.err))
    return len(re.findall(r'the comment ".*" could not be kept', ran.err)) + more


def test_upstream_files_convert_there_and_back(command: Command, files: Files) -> None:
    folder = files(**{f"g{number:03}": text for number, text in enumerate(texts())})
    versions = {version_of(yaml.safe_load(file.read_text())) for file in folder.glob("*.yaml")}
    assert versions == {ALPHA, BETA}
    before, previous = found(command), comments(folder)
    assert len(previous) > 5 * COUNT
    for version in (BETA, ALPHA, BETA):
        ran = command("convert", ".", "--to", version, "--write", "--line", "1.2")
        assert ran.code == 0, ran.err
        assert {version_of(yaml.safe_load(file.read_text())) for file in folder.glob("*.yaml")} == {version}
        assert found(command) <= before
        left = comments(folder)
        assert len(left) == len(set(left))
        assert set(left) <= set(previous)
        assert len(previous) - len(left) == not_kept(ran)
        previous = left
