"""Who may read metrics: what is asked, what is kept and for how long, and what an API server that is away changes."""

import asyncio
import ssl
from pathlib import Path
from typing import Any, cast

import pytest
import trustme

from dynamo_webhooks.certs.context import ReloadingContext
from dynamo_webhooks.kube.errors import ForbiddenError, UnavailableError
from dynamo_webhooks.kube.protocol import Cluster
from dynamo_webhooks.kube.resources import ACCESS_REVIEWS, TOKEN_REVIEWS, Resource
from dynamo_webhooks.webhooks.cluster.reviews import AccessReviewer, may_read
from dynamo_webhooks.webhooks.probes import (
    ALLOW_SECONDS,
    DENIED,
    DENY_SECONDS,
    MAX_CACHED_ANSWERS,
    STALE_ALLOW_SECONDS,
    UNDECIDED,
    UNKNOWN,
    MetricsAccess,
)
from tests.rows import run_each
from tests.webhooks.serving import DEADLINE, write_pair
from tests.webhooks.test_facts_feed import Fed
from tests.webhooks.test_probes import READY, listening, said

GOOD, BAD = "good-token", "bad-token"
BEARER = f"Bearer {GOOD}"


class Door:
    """A gate with somebody to ask, a clock, and a count of those who were turned away."""

    def __init__(self) -> None:
        self.answers: dict[str, bool | None] = {GOOD: True}
        self.asked: list[str] = []
        self.seconds = 1_000.0
        self.refused = 0
        self.gate = MetricsAccess(self.ask, self.count, lambda: self.seconds)

    async def ask(self, token: str) -> bool | None:
        self.asked.append(token)
        return self.answers.get(token, False)

    def count(self) -> None:
        self.refused += 1


@run_each("header", ["", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", GOOD, "Bearer \udcff", "Bearer é"])
async def test_without_a_bearer_token_nobody_is_asked(header: str) -> None:
    door = Door()
    assert await door.gate.refusal(header) == UNKNOWN
    assert (door.asked, door.refused) == ([], 1)


@run_each("header", [BEARER, f"bearer  {GOOD} ", f"BEARER {GOOD}"])
async def test_a_token_is_passed_on_as_it_is(header: str) -> None:
    door = Door()
    assert await door.gate.refusal(header) is None
    assert (door.asked, door.refused) == ([GOOD], 0)


async def test_a_yes_is_kept_for_a_while() -> None:
    """And is withdrawn when the API server takes it back."""
    door = Door()
    assert await door.gate.refusal(BEARER) is None
    door.answers[GOOD] = False
    door.seconds += ALLOW_SECONDS - 1
    assert await door.gate.refusal(BEARER) is None
    assert door.asked == [GOOD]
    door.seconds += 1
    assert await door.gate.refusal(BEARER) == DENIED


async def test_a_no_is_kept_for_a_shorter_while() -> None:
    door = Door()
    assert await door.gate.refusal(f"Bearer {BAD}") == DENIED
    door.answers[BAD] = True
    door.seconds += DENY_SECONDS - 1
    assert await door.gate.refusal(f"Bearer {BAD}") == DENIED
    door.seconds += 1
    assert await door.gate.refusal(f"Bearer {BAD}") is None
    assert (len(door.asked), door.refused) == (2, 2)


async def test_while_nobody_can_be_asked_the_last_yes_counts_for_a_quarter_of_an_hour() -> None:
    door = Door()
    assert await door.gate.refusal(BEARER) is None
    assert await door.gate.refusal(f"Bearer {BAD}") == DENIED
    door.answers = {GOOD: None, BAD: None, "new": None}
    door.seconds += STALE_ALLOW_SECONDS - 1
    assert await door.gate.refusal(BEARER) is None
    assert await door.gate.refusal(f"Bearer {BAD}") == UNDECIDED
    assert await door.gate.refusal("Bearer new") == UNDECIDED
    door.seconds += 1
    assert await door.gate.refusal(BEARER) == UNDECIDED


async def test_many_tokens_push_nobody_out() -> None:
    door = Door()
    assert await door.gate.refusal(BEARER) is None
    for number in range(2 * MAX_CACHED_ANSWERS):
        assert await door.gate.refusal(f"Bearer try-{number}") == DENIED
    door.asked.clear()
    assert await door.gate.refusal(BEARER) is None
    assert door.asked == []


class Judge:
    """An API server that reviews tokens; what it was asked is kept."""

    def __init__(self, token: Any, access: Any = None) -> None:
        self.answers = {TOKEN_REVIEWS: token, ACCESS_REVIEWS: access}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def create(self, resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((obj["kind"], obj["spec"]))
        answer = self.answers[resource]
        if isinstance(answer, Exception):
            raise answer
        return {**obj, "status": answer}


USER = {"username": "system:serviceaccount:monitoring:prometheus", "uid": "5", "groups": ["g"], "extra": {"x": ["y"]}}
KNOWN = {"authenticated": True, "user": USER}


@run_each(
    ("token", "access", "allowed"),
    [
        (KNOWN, {"allowed": True}, True),
        (KNOWN, {"allowed": False}, False),
        (KNOWN, {}, False),
        (KNOWN, None, False),
        ({"authenticated": False}, {"allowed": True}, False),
        ({"error": "expired"}, {"allowed": True}, False),
        (None, {"allowed": True}, False),
    ],
)
async def test_both_questions_must_be_answered_with_yes(token: Any, access: Any, allowed: bool) -> None:
    assert await may_read(cast("Cluster", Judge(token, access)), GOOD) is allowed


async def test_the_access_review_is_of_the_tokens_user() -> None:
    judge = Judge(KNOWN, {"allowed": True})
    await may_read(cast("Cluster", judge), GOOD)
    who = {"user": USER["username"], "uid": "5", "groups": ["g"], "extra": {"x": ["y"]}}
    assert judge.asked == [
        ("TokenReview", {"token": GOOD}),
        ("SubjectAccessReview", {**who, "nonResourceAttributes": {"path": "/metrics", "verb": "get"}}),
    ]


@pytest.mark.parametrize(
    "judge",
    [None, Judge(UnavailableError(0, "", "away")), Judge(KNOWN, UnavailableError(503, "", "busy")), Judge(ForbiddenError(403, "", "no"))],
)
async def test_what_cant_be_told_is_neither_yes_nor_no(judge: Judge | None, caplog: pytest.LogCaptureFixture) -> None:
    reports: list[dict[str, Any]] = []
    desk = AccessReviewer(reports.append)
    desk.cluster = cast("Cluster | None", judge)
    for number in range(2):
        await desk.answer({"id": number, "token": GOOD})
    assert reports == [{"access": {"id": number, "allowed": None}} for number in range(2)]
    forbidden = judge is not None and isinstance(judge.answers[TOKEN_REVIEWS], ForbiddenError)
    assert caplog.text.count("tokenreviews") == int(forbidden), "said once, with what to do"
    assert GOOD not in caplog.text


ANSWERING = """
import json, sys
sys.stdin.readline()
print(json.dumps({"facts": {}, "stale": {}, "refused": "", "traffic": []}), flush=True)
for line in sys.stdin:
    word, _, rest = line.partition(" ")
    if word == "access":
        asked = json.loads(rest)
        if asked["token"] == "deadly":
            sys.exit(1)
        print(json.dumps({"access": {"id": asked["id"], "allowed": asked["token"] == "good-token"}}), flush=True)
    else:
        break
"""


async def test_the_watching_process_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can be asked before it runs, and what it didn't answer when it ended is not known."""
    monkeypatch.setattr("tests.webhooks.test_facts_feed.PROGRAM", ANSWERING)
    monkeypatch.setattr("dynamo_webhooks.webhooks.cluster.feed.RETRY_SECONDS", DEADLINE)
    monkeypatch.setattr("dynamo_webhooks.webhooks.cluster.feed.ANSWER_SECONDS", DEADLINE)
    fed = Fed(tmp_path, [[]])
    assert await fed.feed.ask(GOOD) is None
    task = asyncio.create_task(fed.feed.run())
    await fed.until(lambda: bool(fed.taken))
    assert [*await asyncio.gather(fed.feed.ask(GOOD), fed.feed.ask(BAD))] == [True, False]
    assert await fed.feed.ask("deadly") is None
    await fed.feed.stop()
    task.cancel()


@pytest.mark.parametrize(
    ("header", "status", "body"),
    [
        (f"Authorization: Bearer {GOOD}\r\n", 200, "metrics"),
        (f"Authorization: Bearer {BAD}\r\n", 403, "may not get /metrics"),
        ("", 401, "a bearer token is needed"),
    ],
)
async def test_metrics_over_tls_are_for_bearers(tmp_path: Path, header: str, status: int, body: str) -> None:
    door, authority, trusting = Door(), trustme.CA(), ssl.create_default_context()
    write_pair(tmp_path, authority.issue_cert("127.0.0.1"))
    authority.configure_trust(trusting)
    async with listening(READY, ReloadingContext(tmp_path), door.gate) as port:
        code, head, text = await said(port, "GET /metrics", header, trusting)
    assert code == status
    assert body in text
    assert ("WWW-Authenticate: Bearer" in head) == (status == 401)
    assert door.refused == int(status != 200)
