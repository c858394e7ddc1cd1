"""The definitions of each line on a real API server, which prices their rules, and judges as the offline walker does."""

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from dynamo_webhooks.api.crd import build
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.api.line import Line
from tests.cluster.harness import ControlPlane, control_plane
from tests.cluster.objects import checkpoint, path_of
from tests.cluster.test_cel import Site, agree, sites
from tests.cluster.test_check_generated import agree as agree_on_objects

MANY: Final = 46  # objects of a kind and version, which makes 500 a line
# the sites that a line adds; those of the oldest are in test_cel.py
SITES: Final = [(line, site) for before, line in pairwise(Line) for site in sites(line) if site not in sites(before)]


@pytest.fixture(scope="module")
def planes(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Line], ControlPlane]]:
    """An API server with the definitions of a line, each started once; nothing is registered, and nothing converts."""
    with contextlib.ExitStack() as stack:

        @cache
        def start(line: Line) -> ControlPlane:
            found = stack.enter_context(control_plane(assets, tmp_path_factory.mktemp("line")))
            found.install(*(build(kind.name, line=line) for kind in KINDS if kind.is_of(line)))
            return found

        yield start


@pytest.mark.parametrize(("line", "site"), SITES, ids=str)
def test_rules_of_a_line_judge_as_the_api_server(planes: Callable[[Line], ControlPlane], line: Line, site: Site) -> None:
    agree(planes(line), site, line, alone=False)


@pytest.mark.parametrize("line", Line)
def test_generated_objects_are_judged_as_by_the_api_server(planes: Callable[[Line], ControlPlane], line: Line) -> None:
    plane = planes(line)
    pairs = [(kind, version.name) for kind in KINDS if kind.is_of(line) for version in kind.versions]
    replies = [
        said for kind, name in pairs for said in agree_on_objects(plane, kind.name, name, MANY, line, stored=kind.stored(line) == name)
    ]
    assert len(replies) > 450
    assert len(replies) / 10 < sum(not said.causes for said in replies if said.decoded) < len(replies) * 0.9


@pytest.mark.parametrize("line", Line)
def test_a_kind_that_is_gone_is_unknown(planes: Callable[[Line], ControlPlane], line: Line) -> None:
    """E29."""
    obj = checkpoint("default")
    assert planes(line).request("POST", f"{path_of(obj)}?dryRun=All", obj).status == (404 if line >= Line.V1_5 else 201)
