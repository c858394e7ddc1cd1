"""Memory for long reviews: in the order of asking, given back whatever happens, and taken from clients that are slow while others wait."""

import asyncio
import contextlib
import gc
import socket
import types
from pathlib import Path
from typing import Any, Final

import pytest
import uvloop

from dynamo_webhooks.webhooks.body_memory import ANSWER_FACTOR, BodyMemory, Reservation
from dynamo_webhooks.webhooks.limits import Bound, Limits
from dynamo_webhooks.webhooks.trim import DelayedTrim
from tests.webhooks.requests import GRAPHS, conversion, graph, review
from tests.webhooks.serving import DEADLINE, QUICK, Client, Served, post, served, until

BODY: Final = review(graph())
# nobody is as quick as that, but it matters only where others wait
SLOW: Final = QUICK._replace(small_body=10, slow_seconds=0.05, pace=10**12, conversion_seconds=DEADLINE, write_seconds=DEADLINE)
MANY: Final = conversion([graph()] * 7_000)  # the answer is longer than what a kernel keeps on the way


class Asked:
    """A room of ten bytes, and who has entered it."""

    def __init__(self) -> None:
        self.crowded = 0
        self.room = BodyMemory(10, Limits(), self._crowd)
        self.inside: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self._ends: dict[str, asyncio.Event] = {}

    def _crowd(self) -> None:
        self.crowded += 1

    async def ask(self, name: str, size: int) -> None:
        """Somebody asks for so much, and stays until `leave`."""
        self._ends[name] = asyncio.Event()

        async def stay() -> None:
            with self.room.reserve() as place:
                await place.enter(size)
                self.inside.append(name)
                await self._ends[name].wait()
            self.inside.remove(name)

        self.tasks[name] = asyncio.create_task(stay())
        await self.turns()

    async def leave(self, name: str) -> None:
        self._ends[name].set()
        await self.turns()

    async def turns(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


async def test_room_is_given_in_the_order_of_asking() -> None:
    """A small one does not overtake a large one, which would wait for ever else."""
    visitors = Asked()
    for name, size in (("a", 6), ("b", 4), ("large", 9), ("c", 1), ("d", 1)):
        await visitors.ask(name, size)
    assert (visitors.inside, visitors.room.used, visitors.crowded) == (["a", "b"], 10, 3)
    await visitors.leave("b")
    assert visitors.inside == ["a"]
    await visitors.leave("a")
    assert (visitors.inside, visitors.room.used) == (["large", "c"], 10)
    await visitors.leave("large")
    assert (visitors.inside, visitors.room.used) == (["c", "d"], 2)


async def test_one_that_needs_more_than_there_is_is_alone() -> None:
    visitors = Asked()
    await visitors.ask("a", 1)
    await visitors.ask("huge", 1_000)
    assert visitors.inside == ["a"]
    await visitors.leave("a")
    await visitors.ask("b", 1)
    assert (visitors.inside, visitors.room.used) == (["huge"], 10)
    await visitors.leave("huge")
    assert visitors.inside == ["b"]


async def test_who_gives_up_waiting_lets_others_pass() -> None:
    visitors = Asked()
    for name, size in (("a", 6), ("large", 9), ("b", 4)):
        await visitors.ask(name, size)
    visitors.tasks["large"].cancel()
    await visitors.turns()
    assert visitors.inside == ["a", "b"]


async def test_room_given_to_one_who_has_just_given_up_comes_back() -> None:
    visitors = Asked()
    await visitors.ask("a", 10)
    await visitors.ask("b", 10)
    visitors._ends["a"].set()
    visitors.tasks["b"].cancel()  # in the same turn
    await visitors.turns()
    assert (visitors.inside, visitors.room.used) == ([], 0)
    await visitors.ask("c", 10)
    assert visitors.inside == ["c"]


async def test_an_answer_may_need_more_than_its_review() -> None:
    """It has it at once; others wait the longer."""
    visitors = Asked()
    with visitors.room.reserve() as stay:
        await stay.enter(8)
        stay.change(15)
        assert visitors.room.used == 15
        await visitors.ask("a", 1)
        stay.change(9)
        await visitors.turns()
        assert (visitors.inside, visitors.room.used) == (["a"], 10)
    assert visitors.room.used == 1


async def test_a_look_at_one_whose_time_is_up_in_the_same_moment_does_no_harm() -> None:
    """It would end the watch over all others."""
    looked: list[bool] = []
    loop = asyncio.get_running_loop()

    def look() -> None:
        stay.check(loop.time() + DEADLINE, Limits())
        looked.append(stay.evicted)

    with BodyMemory(10, Limits(), looked.clear).reserve() as stay:
        await stay.enter(10)
        stay.begin()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0) as transfer:
                with stay.turn(transfer):
                    loop.call_soon(look)
                    await loop.create_future()
    assert looked == [False]


def slow_reader(client: Client) -> None:
    """From now on it takes hardly anything."""
    client.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    transport: Any = client.writer.transport
    transport.pause_reading()


async def waiting(running: Served, times: int = 1) -> None:
    """Until so many have had to wait for room."""
    await until(lambda: running.server.meter.bounds.get(Bound.LARGE_BODIES, 0) >= times)


def converted(running: Served) -> float:
    """How many objects have been converted."""
    return sum(objects for objects, _ in running.server.meter.conversions.values())


@pytest.mark.parametrize("path", [GRAPHS, "/convert"])
async def test_a_slow_sender_loses_its_room_when_others_wait(tmp_path: Path, path: str) -> None:
    """Two that send a byte now and then don't keep a third waiting, which needs the room of both."""
    body = BODY if path == GRAPHS else conversion([graph()])
    limits = SLOW._replace(room=2 * len(body), conversion_room=2 * ANSWER_FACTOR * len(body))
    async with served(tmp_path, limits) as running:
        slow = [await running.connect() for _ in range(2)]
        for client in slow:
            client.send(post(path, body)[:-9])
        await until(lambda: running.server.snapshot().reading.get(path) == 2)
        assert (await (await running.connect()).post(path, body.ljust(2 * len(body)))).status == 200
        replies = [await client.answer() for client in slow]
        for client in slow:
            client.writer.transport.abort()  # the server would wait a while for what it may still send
    assert {each.status for each in replies} <= {408, 200}
    assert running.server.meter.bounds[Bound.PACE] == 2
    assert "others wait" in replies[0].json["message"]


async def test_a_slow_sender_that_nobody_waits_for_has_its_time(tmp_path: Path) -> None:
    async with served(tmp_path, SLOW) as running:
        client = await running.connect()
        whole = post(GRAPHS, BODY)
        client.send(whole[:-9])
        await until(lambda: running.server.snapshot().reading.get(GRAPHS) == 1)
        await asyncio.sleep(4 * SLOW.slow_seconds)
        client.send(whole[-9:])
        assert (await client.answer()).status == 200
    assert running.server.meter.bounds == {}


async def test_slow_readers_keep_neither_room_nor_places(tmp_path: Path) -> None:
    """Two that don't take their answers, and all the room is theirs: a third is answered all the same."""
    limits = SLOW._replace(conversion_room=len(MANY))
    async with served(tmp_path, limits) as running:
        slow = [await running.connect() for _ in range(2)]
        for times, client in enumerate(slow, 1):
            slow_reader(client)
            client.send(post("/convert", MANY))
            # each has sent all of it before anybody waits, or it would count as a slow sender
            await until(lambda times=times: converted(running) >= 7_000 * times)
        third = await running.connect()
        reply = await third.post("/convert", conversion([graph()] * 3))
        assert (reply.status, len(reply.json["response"]["convertedObjects"])) == (200, 3)
        assert running.server.meter.bounds[Bound.PACE] == 2
        assert {key[2] for key in running.server.meter.requests} == {"converted"}
        for client in slow:
            client.writer.transport.abort()


async def test_converting_goes_on_beside_readers_that_are_slow(tmp_path: Path) -> None:
    """A place for converting is free again as soon as there is an answer: nobody needs to be thrown out."""
    limits = SLOW._replace(conversion_room=100 * len(MANY), slow_seconds=DEADLINE)
    async with served(tmp_path, limits) as running:
        slow = await running.connect()
        slow_reader(slow)
        slow.send(post("/convert", MANY))
        await until(lambda: any(key[2] == "converted" for key in running.server.meter.requests))
        assert (await (await running.connect()).post("/convert", conversion([graph()] * 3))).status == 200
        assert running.server.meter.bounds == {}
        slow.writer.transport.abort()


async def test_a_long_list_does_not_keep_admission_waiting(tmp_path: Path) -> None:
    """They have room apart."""
    limits = SLOW._replace(room=len(BODY), conversion_room=10)
    async with served(tmp_path, limits) as running:
        client = await running.connect()
        client.send(post("/convert", conversion([graph()]))[:-9])
        await until(lambda: running.server.snapshot().reading.get("/convert") == 1)
        assert (await (await running.connect()).post(GRAPHS, BODY)).status == 200
        assert running.server.meter.bounds == {}


async def test_no_room_in_time_is_said(tmp_path: Path) -> None:
    """The body is not read before there is room for it, and the connection is closed after the sentence."""
    limits = SLOW._replace(room=len(BODY), body_seconds=0.3, slow_seconds=DEADLINE)
    async with served(tmp_path, limits) as running:
        holder = Reservation(running.server._bodies._admission)
        with holder:
            await holder.enter(len(BODY))
            reply = await (await running.connect()).post(GRAPHS, BODY)
            assert (reply.status, reply.json["reason"], reply.headers["connection"]) == (429, "TooManyRequests", "close")
            assert reply.json["message"] == "within 0.3 seconds there was no room: other long reviews came first"
        assert (await (await running.connect()).post(GRAPHS, BODY)).status == 200


async def test_all_room_is_given_back(tmp_path: Path) -> None:
    """By clients that leave while they send, wait, or are to take their answers, and by those that end well."""
    limits = SLOW._replace(conversion_room=ANSWER_FACTOR * len(MANY), slow_seconds=DEADLINE)
    async with served(tmp_path, limits) as running:
        room = running.server._bodies._conversion
        for cut in (9, 0):
            clients = [await running.connect() for _ in range(3)]
            for client in clients:
                slow_reader(client)
                client.send(post("/convert", MANY)[: len(MANY) - cut] if cut else post("/convert", MANY))
            await waiting(running)
            for client in clients:
                client.writer.transport.abort()
            await running.gone()
            await until(lambda: room.used == 0)
        reply = await (await running.connect()).post("/convert", MANY)
        assert reply.status == 200
        await until(lambda: room.used == 0)


def test_nothing_of_a_body_or_an_answer_stays_when_the_client_leaves(tmp_path: Path) -> None:
    """An error that somebody keeps has a traceback, whose frames have the text: the collector would free it hours later."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as in production: errors are kept in other places than asyncio's
        assert not {"read", "answer_long", "send", "_send_all", "_send_pieces", "_drain", "_do"} & runner.run(_frames_left(tmp_path))


async def _frames_left(tmp_path: Path) -> set[str]:
    whole = post("/convert", MANY)
    async with served(tmp_path, SLOW._replace(conversion_room=len(MANY), slow_seconds=DEADLINE)) as running:
        gc.collect()
        gc.disable()
        try:
            sender, reader = await running.connect(), await running.connect()
            sender.send(whole[:-9])
            await until(lambda: running.server.snapshot().reading.get("/convert") == 1)
            sender.writer.transport.abort()
            slow_reader(reader)
            reader.send(whole)
            await until(lambda: any(each.writing_paused for each in running.server.connections.open))
            reader.writer.transport.abort()
            await running.gone()
            return {each.f_code.co_name for each in gc.get_objects() if isinstance(each, types.FrameType)}
        finally:
            gc.enable()


async def test_clients_that_come_again_and_again_do_not_put_it_off() -> None:
    given: list[int] = []
    began = 0
    trim = DelayedTrim(lambda: given.append(began), seconds=0.05)
    async with asyncio.timeout(5):
        while len(given) < 2:
            trim.begin()
            began += 1
            await asyncio.sleep(0.005)
    assert trim._timer is None
    assert given[1] - given[0] > 1  # and each trim serves many of them


async def test_a_long_review_is_followed_by_a_trim_and_a_short_one_is_not(tmp_path: Path) -> None:
    trims: list[None] = []
    async with served(tmp_path) as running:
        bodies, client = running.server._bodies, await running.connect()
        bodies.trim._seconds, bodies.trim._give_back = 0, lambda: trims.append(None)
        assert (await client.post(GRAPHS, review(graph()))).status == 200
        assert bodies.trim._timer is None
        assert (await client.post(GRAPHS, review(graph()).replace(b"{", b"{" + b" " * 300_000, 1))).status == 200
        await until(lambda: trims)


async def test_a_connection_that_ends_is_followed_by_a_trim(tmp_path: Path) -> None:
    """A crowd of them leaves a hundred megabytes and more."""
    async with served(tmp_path) as running:
        client = await running.connect()
        assert (await client.post(GRAPHS, review(graph()))).status == 200
        trim = running.server._bodies.trim
        assert trim._timer is None
        client.writer.transport.abort()
        await running.gone()
        assert trim._timer is not None
        trim._timer.cancel()
