"""The same requests by line 1.5 of the operator and by line 1.2: what the newer fields, rules and defaults cost."""

from pathlib import Path
from typing import Final

import orjson
import yaml

from tests.bench.guard import requests
from tests.bench.load import Measured, apart, ours
from tests.bench.speed import Pair
from tests.bench.table import Settings, Table, microseconds
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
            for what, path, body, count in requests():
                for server in (newer, older):
                    _accepted(server.send(path, body, 1))
                mine, theirs, ratio = pair.costs(path, body, max(2, settings.block // count), settings.rounds)
                shown, limit = f"{what}; beside it by line 1.2", LIMIT if path == "/convert" else 0.0
                table.row(SECTION, shown, microseconds(mine / count), microseconds(theirs / count), ratio, limit=limit)


def _serving(version: str, certificates: Path, folder: Path) -> list[str]:
    facts = folder / f"facts-{version}.yaml"
    facts.write_text(yaml.safe_dump({**base()["facts"], "operatorVersion": version}))
    return ours(certificates, facts)


def _accepted(answer: bytes) -> None:
    response = orjson.loads(answer)["response"]
    if response.get("allowed") is not True and (response.get("result") or {}).get("status") != "Success":
        raise RuntimeError(f"the request was not accepted: {answer[:500]!r}")
