"""Damaged reviews over TLS to a server process, on connections that are kept: none is lost, and nothing of them stays in the process."""

import http.client
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import orjson

from dynamo_webhooks.webhooks.limits import Limits
from dynamo_webhooks.webhooks.trim import TRIM_SECONDS
from tests.hostile.growth import resident
from tests.hostile.judging import MAX_SHOWN_BYTES, complaint
from tests.hostile.large import VALIDATE, shapes
from tests.hostile.settings import SEED, SERVED
from tests.hostile.test_reviews import mutants
from tests.policies.examples import base
from tests.webhooks.processes import Command

CONNECTIONS: Final = 6
MAX_GROWTH_MB: Final = 16.0  # from the end of the first tenth, both at a quiet moment
QUIET: Final = TRIM_SECONDS + 1  # by then the server has given back what bodies of megabytes had
TOO_LARGE: Final = 413
LIMIT: Final = Limits().body
TYPES: Final = ("application/json", "application/json", "application/json; charset=utf-8", "Application/JSON")


def _sent(connection: http.client.HTTPSConnection, seed: str, count: int) -> list[str]:
    """Sends so many one after the other over one connection; the complaints."""
    chooser, complaints = random.Random(seed), []  # noqa: S311 - nothing here is a secret
    socket = None
    for case, mutant in mutants(seed, count):
        if socket is None:  # only now: reviews are generated for seconds first, and the server closes a connection that stays silent
            connection.connect()
            socket = connection.sock
        kind = {"Content-Type": chooser.choice(TYPES)}
        connection.request("POST", f"{case.route.path}?timeout=10s", mutant.body, kind)
        answer = connection.getresponse()
        body = answer.read()
        wrong = complaint(case.route, mutant, answer.status, body)
        if answer.status == TOO_LARGE and len(mutant.body) > LIMIT:  # the rest of it isn't read, so that nothing can follow
            connection.connect()
            socket = connection.sock
        if connection.sock is not socket:
            wrong = f"the connection was lost; {wrong or body[:200]!r}"
        if wrong:
            complaints.append(f"{case.route.path}: {wrong}\n{mutant.body[:MAX_SHOWN_BYTES]!r}")
            break
    return complaints


def _tried(server: Command, seed: str, count: int) -> list[str]:
    """Sends so many over all connections at once."""
    connections = [server.connect() for _ in range(CONNECTIONS)]
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        each = count // CONNECTIONS + 1
        lists = list(pool.map(lambda pair: _sent(pair[1], f"{seed}/{pair[0]}", each), enumerate(connections)))
    for connection in connections:
        connection.close()
    return [complaint for listed in lists for complaint in listed]


def test_no_connection_is_lost_and_no_answer_is_ours_to_blame(tmp_path: Path) -> None:
    with Command(tmp_path, facts=base()["facts"]) as server:
        server.ready()
        process = server.process.pid  # a single worker is the process itself
        complaints = _tried(server, f"{SEED}/served/0", SERVED // 10)
        time.sleep(QUIET)
        before = resident(process)
        complaints += _tried(server, f"{SEED}/served/1", SERVED - SERVED // 10)
        time.sleep(QUIET)
        grown = resident(process) - before
        assert not complaints, f"HOSTILE_SEED={SEED}\n" + "\n".join(complaints[:5])
        assert server.process.poll() is None
        assert grown < MAX_GROWTH_MB, f"{grown:.1f} MB more in the server after {SERVED} reviews with HOSTILE_SEED={SEED}"


def test_what_is_large_on_purpose_is_answered_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Every shape is answered or refused with a bound's status, and a small review between them is answered like any other."""
    small = orjson.dumps(
        {"request": {"uid": "s", "operation": "CREATE", "object": {"metadata": {"name": "s"}, "spec": {"services": {"w": {}}}}}}
    )
    with Command(tmp_path, facts=base()["facts"]) as server, ThreadPoolExecutor(4) as pool:
        server.ready()
        connections, made = [server.connect() for _ in range(4)], shapes()
        large = [pool.submit(_status, connection, made[number::4]) for number, connection in enumerate(connections)]
        other = server.connect()
        answered = []
        while not all(each.done() for each in large):
            answered += _status(other, [(VALIDATE, small)])
            time.sleep(0.01)
        statuses = [status for each in large for status in each.result()]
        for connection in (*connections, other):
            connection.close()
        assert server.process.poll() is None
    assert len(statuses) == len(made)
    assert set(statuses) <= {200, TOO_LARGE}
    assert set(answered) == {200}


def _status(connection: http.client.HTTPSConnection, requests: list[tuple[str, bytes]]) -> list[int]:
    statuses = []
    for path, body in requests:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    return statuses
