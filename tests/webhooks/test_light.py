"""Which bodies are answered in the event loop: by what they hold, not by their length alone."""

from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.webhooks import convert
from dynamo_webhooks.webhooks.admission import answer
from dynamo_webhooks.webhooks.executor.executor import Executor
from dynamo_webhooks.webhooks.limits import MAX_LIGHT_BODY_BYTES, Limits, is_light
from dynamo_webhooks.webhooks.meters import Meter
from dynamo_webhooks.webhooks.routes import CONVERT, ROUTES
from dynamo_webhooks.webhooks.split_review import NotDivisibleError
from tests.hostile.worst import ALPHA, BETA, Recipe, body, ordinary
from tests.webhooks.requests import GRAPHS, conversion, graph, review
from tests.webhooks.serving import served

SMALL: Final = Limits().small_body
PACKED: Final = Recipe("kept", "empty maps", 0, 64, packed=True)
DENSE: Final = Recipe("live", "empty maps", 2, 64)


@pytest.mark.parametrize("recipe", [PACKED, PACKED._replace(trimmed=True), DENSE, Recipe("entries", "nulls", 3, 2)], ids=str)
def test_costly_bodies_are_no_work_for_the_loop(recipe: Recipe) -> None:
    for size in (3 * MAX_LIGHT_BODY_BYTES, SMALL) if recipe.packed else (SMALL,):
        assert not is_light(body(CONVERT, BETA, recipe, size), SMALL)


def test_ordinary_bodies_are_work_for_the_loop() -> None:
    for version in (ALPHA, BETA):
        for size in (MAX_LIGHT_BODY_BYTES, SMALL // 2, SMALL - 3_000):
            made = ordinary(version, size)
            assert size / 2 < len(made) <= SMALL
            assert is_light(made, SMALL)
    assert is_light(review(graph()), SMALL)
    assert is_light(orjson.dumps({"args": ["a && b 2>&1 | c" * 500]}).replace(b"&", b"\\u0026").replace(b">", b"\\u003e"), SMALL)


@pytest.mark.parametrize("spelled", ["packed", "p\\u0061cked", "pack\\\\u0065d", "\\\\\\u00750070acked", "\\u005cu0070acked"])
def test_however_a_packed_text_is_spelled_it_is_noticed(spelled: str) -> None:
    filler = b"x" * MAX_LIGHT_BODY_BYTES
    assert not is_light(b'{"a":"{\\"%b\\":1}","b":"%b"}' % (spelled.encode(), filler), SMALL)


def test_a_short_body_is_answered_in_the_loop_whatever_it_holds() -> None:
    start, end = b'{"a":"{\\"packed\\":1}","b":"', b'"}'
    filler = b"x" * (MAX_LIGHT_BODY_BYTES - len(start + end))
    assert is_light(start + filler + end, SMALL)
    assert not is_light(start + filler + b"x" + end, SMALL)


def test_a_list_with_one_costly_object_is_not_converted_in_steps() -> None:
    listed: list[Any] = [
        orjson.loads(body(CONVERT, BETA, each, 10_000))["request"]["objects"][0] for each in (PACKED, Recipe("live", "named"))
    ]
    plain = [orjson.loads(ordinary(BETA, 4_000))["request"]["objects"][0]] * 20

    assert len(list(convert.steps(conversion(plain, f"nvidia.com/{ALPHA}"), SMALL, line=Line.V1_2))) == len(plain) + 1
    with pytest.raises(NotDivisibleError):
        next(convert.steps(conversion([*plain, listed[0]], f"nvidia.com/{ALPHA}"), SMALL, line=Line.V1_2))


async def test_a_costly_body_is_answered_by_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same answer, on a connection that goes on; whether its head is known or not."""
    ran, run = [0], Executor.run

    async def noted(self: Executor, *args: Any) -> Any:
        ran[0] += 1
        return await run(self, *args)

    monkeypatch.setattr(Executor, "run", noted)
    costly, usual = body(CONVERT, BETA, PACKED, 30_000), ordinary(BETA, 10_000)
    async with served(tmp_path) as server:
        client = await server.connect()
        for payload in (usual, usual, costly, costly, usual, costly):
            reply = await client.post("/convert", payload)
            assert (reply.status, reply.body) == (200, answer(CONVERT, payload, Settings()).body)
        reply = await client.post(GRAPHS, body(ROUTES[GRAPHS], ALPHA, DENSE, 20_000))
        assert reply.status == 200
        meter: Meter = server.server.snapshot()
        assert sum(meter.callers.values()) == 7
    assert ran[0] == 4
