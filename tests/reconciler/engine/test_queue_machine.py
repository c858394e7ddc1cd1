"""Random lives of the queue, beside a plain model of it: no wake-up is lost, nothing runs twice at a time, everybody gets a turn."""

import asyncio
from collections.abc import Awaitable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dynamo_webhooks.reconciler.common.keys import Key
from dynamo_webhooks.reconciler.engine.queue import MAX_RETRY_SECONDS, Cause, Queue
from tests.kube.timing import SettlingLoop, Timing

KEYS = st.builds(Key, st.sampled_from(["K", "L"]), st.just("n"), st.sampled_from(["a", "b", "c"]))
CAUSES = st.sampled_from(Cause)
MOMENTS = st.sampled_from([0.1, 1.0, 60.0])


class Lives(RuleBasedStateMachine):
    """Several workers; the model knows which keys somebody has asked for since they were last begun."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = SettlingLoop()
        self.timing = Timing()
        self.queue = Queue(clocks=self.timing.clocks(1.0))
        self.wanted: dict[Key, float] = {}  # until when the next turn has to be possible at the latest
        self.running: list[Key] = []

    def teardown(self) -> None:
        """In the end everybody who was asked for has had a turn, whatever was said before."""
        for key in [*self.running]:
            self._end(key)
        for _ in range(40):
            self._run(self.timing.advance(MAX_RETRY_SECONDS))
            while len(self.queue):
                self._begin()
                self._end(self.running[-1])
        assert self.wanted == {}
        assert not self.queue._later
        self._run(self.queue.close())
        self.loop.close()

    @rule(key=KEYS, cause=CAUSES)
    def add(self, key: Key, cause: Cause) -> None:
        self._in_loop(lambda: self.queue.add(key, cause=cause))
        self.wanted[key] = self.timing.clock()

    @rule(key=KEYS, cause=CAUSES, after=MOMENTS)
    def add_later(self, key: Key, cause: Cause, after: float) -> None:
        self._in_loop(lambda: self.queue.add(key, after, cause))
        self._want(key, after)

    @precondition(lambda self: len(self.queue) > 0)
    @rule()
    def begin(self) -> None:
        self._begin()

    @precondition(lambda self: self.running)
    @rule(data=st.data(), after=st.sampled_from([0.0, 1.0, 60.0]))
    def end(self, data: st.DataObject, after: float) -> None:
        key = data.draw(st.sampled_from(self.running))
        self._end(key, after)
        if after:
            self._want(key, after)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.running))
        self.running.remove(key)
        pauses: list[float] = []
        self._in_loop(lambda: pauses.append(self.queue.failed(key)))
        assert 0 < pauses[0] <= MAX_RETRY_SECONDS
        self._want(key, pauses[0])

    @rule(seconds=MOMENTS)
    def wait(self, seconds: float) -> None:
        self._run(self.timing.advance(seconds))

    @invariant()
    def counts_agree(self) -> None:
        due = {key for key, moment in self.wanted.items() if moment < self.timing.clock() and key not in self.running}
        assert due <= set(self.queue._ready._causes), "who is asked for waits, unless it is being worked on"
        assert len(self.queue) == self.queue.waiting().total()
        assert self.queue.idle == (not len(self.queue) and not self.running)

    def _begin(self) -> None:
        key = self._run(self.queue.get())
        assert key not in self.running
        assert key in self.wanted
        del self.wanted[key]
        self.running.append(key)

    def _end(self, key: Key, after: float = 0.0) -> None:
        self.running.remove(key)
        self._in_loop(lambda: self.queue.done(key, after))

    def _want(self, key: Key, after: float) -> None:
        moment = self.timing.clock() + after
        self.wanted[key] = min(moment, self.wanted.get(key, moment))

    def _in_loop(self, act: object) -> None:
        async def done() -> None:
            assert callable(act)
            act()
            await asyncio.sleep(0)

        self._run(done())

    def _run(self, work: Awaitable[Key | None]) -> Key:
        async def done() -> object:
            return await work

        key = self.loop.run_until_complete(done())
        return key if isinstance(key, Key) else Key("", "", "")


Lives.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestLives = Lives.TestCase
