"""The long form: `python -m tests.hostile.storm --minutes 10 [--cluster]` attacks two servers beside victims, an API server among them."""

import argparse
import asyncio
import contextlib
import tempfile
from pathlib import Path

from tests.cluster.assets.build import CONTROL_PLANE, build
from tests.cluster.planes import Planes
from tests.cluster.webhooks.faults import faulty_site
from tests.cluster.webhooks.strangers import attack
from tests.hostile.settings import SEED
from tests.hostile.storm.generator import Order
from tests.hostile.storm.kinds import KINDS
from tests.hostile.storm.storm import LISTEN, Outcome, attacked, storm
from tests.webhooks.processes import Command


def main() -> int:
    """Prints what was seen; 1 when a bound was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.storm")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--cluster", action="store_true", help="behind a real API server, which writes and reads meanwhile")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--kinds", nargs="*", default=[], choices=KINDS)
    parser.add_argument("--size", type=int, default=0, help="connections of one attack, with the worst of its kind (default: all drawn)")
    parser.add_argument("--replicas", type=int, default=2, help="without an API server")
    given = parser.parse_args()
    order = Order(given.seed, given.minutes * 60, [], tuple(given.kinds), given.size)
    with tempfile.TemporaryDirectory() as folder:
        faults, outcomes = _in_cluster(Path(folder), order) if given.cluster else ([], _alone(Path(folder), order, given.replicas))
    print(f"seed {given.seed}", *faults, sep="\n  ")
    for outcome in outcomes:
        print(outcome, *outcome.faults(), *outcome.late(), sep="\n  ")
    return int(bool(faults) or any(outcome.faults() or outcome.late() for outcome in outcomes))


def _in_cluster(folder: Path, order: Order) -> tuple[list[str], list[Outcome]]:
    with Planes(build(CONTROL_PLANE), folder) as planes, faulty_site(planes, folder) as site:
        return attack(site, order)


def _alone(folder: Path, order: Order, replicas: int) -> list[Outcome]:
    homes = [folder / str(number) for number in range(replicas)]
    for home in homes:
        home.mkdir()
    with contextlib.ExitStack() as running:
        servers = [running.enter_context(Command(home, *LISTEN)) for home in homes]
        return asyncio.run(storm([attacked(each.ready()) for each in servers], order))


if __name__ == "__main__":
    raise SystemExit(main())
