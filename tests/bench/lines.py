"""The same requests by line 1.5 of the operator and by line 1.2: what the newer fields, rules and defaults cost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import orjson
import yaml

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.webhooks.routes import route_path
from tests.bench.load import Measured, apart, ours
from tests.bench.requests import conversion, graph, objects, review
from tests.bench.settings import Settings
from tests.bench.speed import BULK, GRAPH, Pair
from tests.bench.table import Table, microseconds
from tests.policies.examples import base

SECTION: Final = "Line 1.5 beside line 1.2"
LIMIT: Final = 1.05  # of a conversion; what validates and defaults has more to do by the newer line


def lines(table: Table, settings: Settings, certificates: Path, folder: Path) -> None:
    """Two servers of ours, which differ by the version of the operator alone.

    Raises: RuntimeError for a request that one of them refuses, which would be another request.
    """
    authority = certificates / "ca.crt"
    with (
        Measured(_serving("1.5.0", certificates, folder), authority) as newer,
        Measured(_serving("1.2.0", certificates, folder), authority) as older,
    ):
        pair = Pair(newer, older)
        with apart(newer, older):
            for what, path, body, count, limit in _requests():
                for server in (newer, older):
                    _accepted(server.send(path, body, 1))
                mine, theirs, ratio = pair.costs(path, body, max(2, settings.block // count), settings.rounds)
                shown = f"{what}; beside it by line 1.2"
                table.row(SECTION, shown, microseconds(mine / count), microseconds(theirs / count), ratio, limit=limit)


def _requests() -> Iterator[tuple[str, str, bytes, int, float]]:
    """What is measured, its path and body, how many objects that holds, and the bound of the ratio."""
    known = objects()
    for version in ("v1alpha1", "v1beta1"):
        obj = known[GRAPH, version]
        yield f"validate {version}", route_path(GRAPH, version, Purpose.VALIDATE), review(obj), 1, 0.0
        if version == "v1alpha1":
            yield f"mutate {version}", route_path(GRAPH, version, Purpose.MUTATE), review(graph(defaulted=False)), 1, 0.0
        desired = "v1beta1" if version == "v1alpha1" else "v1alpha1"
        for count in (1, BULK):
            what = f"convert {version}, one of {count}" if count > 1 else f"convert {version}"
            yield what, "/convert", conversion(count, obj, desired), count, LIMIT


def _serving(version: str, certificates: Path, folder: Path) -> list[str]:
    facts = folder / f"facts-{version}.yaml"
    facts.write_text(yaml.safe_dump({**base()["facts"], "operatorVersion": version}))
    return ours(certificates, facts)


def _accepted(answer: bytes) -> None:
    response = orjson.loads(answer)["response"]
    if response.get("allowed") is not True and (response.get("result") or {}).get("status") != "Success":
        raise RuntimeError(f"the request was not accepted: {answer[:500]!r}")
