"""Strangers attack the ports of both replicas: requests through a real API server go on as if nothing were."""

from pathlib import Path
from typing import Final

import pytest

from tests.cluster.faults import Site, faulty_site
from tests.cluster.strangers import attack
from tests.hostile.settings import SEED
from tests.hostile.storm.generator import Order

pytestmark = pytest.mark.alone
SECONDS: Final = 30.0


def test_no_request_through_an_api_server_fails_while_strangers_attack(assets: Path, tmp_path: Path) -> None:
    """For ten minutes: `python -m tests.hostile.storm --cluster`. Waiting too long counts when it happens in a second storm, too."""
    with faulty_site(assets, tmp_path) as site:
        assert _harm(site) == [] or _harm(site) == []


def _harm(site: Site) -> list[str]:
    """Attacks, and returns who waited too long."""
    faults, outcomes = attack(site, Order(SEED, SECONDS, []))
    print(f"HOSTILE_SEED={SEED}", *outcomes, sep="\n")
    assert faults == []
    assert [outcome.faults() for outcome in outcomes] == [[], []]
    return [waited for outcome in outcomes for waited in outcome.late()]
