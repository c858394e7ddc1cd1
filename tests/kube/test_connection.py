"""Requests on a real socket: their bytes, those that are repeated, and those that never are."""

import asyncio
import gc
import json
import socket
import ssl
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import trustme
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio.client import Configuration

from dynamo_webhooks.kube.client import Client
from dynamo_webhooks.kube.connection import NO_ANSWER, Connection, host_of
from dynamo_webhooks.kube.errors import ConflictError, GoneError, InvalidError, UnavailableError
from dynamo_webhooks.kube.protocol import Node, RequestLabels, Traffic
from dynamo_webhooks.kube.resources import CONFIG_MAPS, SECRETS, TOKEN_REVIEWS
from tests.rows import run_each

CONFIG: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}}


class Server:
    """Answers by a handler, and records requests."""

    def __init__(self, answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self._answer = answer

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.method, str(request.rel_url), dict(request.headers), await request.read()))
        return await self._answer(request)


@asynccontextmanager
async def connected(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]],
    clock: Callable[[], float] = lambda: 0.0,
    patience: float = 30.0,
    traffic: Traffic | None = None,
) -> AsyncIterator[tuple[Client, Server]]:
    server = Server(answer)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    async with TestServer(app) as listening:
        configuration = Configuration(host=f"http://127.0.0.1:{listening.port}", api_key={"BearerToken": "bearer t"})
        client = Client(Connection(configuration, agent="me", patience=patience, clock=clock, traffic=traffic), "me")
        try:
            yield client, server
        finally:
            await client.close()


async def plain(_: web.Request) -> web.StreamResponse:
    return web.json_response(CONFIG)


def listed(version: str, *names: str, more: str = "") -> Node:
    metadata = {"resourceVersion": version, "continue": more}
    return {"kind": "ConfigMapList", "metadata": metadata, "items": [{"metadata": {"name": name}} for name in names]}


CALLS: dict[str, Callable[[Client], Awaitable[Any]]] = {
    "get": lambda client: client.get(CONFIG_MAPS, "a", "n"),
    "list": lambda client: client.list(CONFIG_MAPS, "n"),
    "page": lambda client: client.page(CONFIG_MAPS, "n", brief=True),
    "create": lambda client: client.create(CONFIG_MAPS, CONFIG),
    "review": lambda client: client.create(TOKEN_REVIEWS, {"metadata": {}}),
    "touch": lambda client: client.touch(CONFIG_MAPS, "a", "n", manager="me"),
    "groups": lambda client: client.groups(),
    "resources": lambda client: client.resources("", "v1"),
    "allowed": lambda client: client.allowed("get", CONFIG_MAPS),
}
FOREIGN: list[tuple[str, Node, str]] = [
    *((call, {}, "`kind` of the answer must be a text, seen none") for call in CALLS),
    ("get", {"kind": "ConfigMap", "metadata": []}, "`metadata` of the answer must be a map, seen list"),
    ("list", {"kind": "ConfigMapList", "metadata": {}}, "`items` of the answer must be a list, seen none"),
    ("list", {"kind": "ConfigMapList", "metadata": {}, "items": [7]}, "each of `items` of the answer must be an object"),
    ("page", {"kind": "ConfigMapList", "metadata": {}, "items": [{"metadata": {}}]}, "each of `items` of the answer must be an object"),
    ("touch", {"kind": "ConfigMap"}, "`metadata` of the answer must be a map, seen none"),
    ("review", {"kind": "TokenReview"}, "`status` of the answer must be a map, seen none"),
    ("groups", {"kind": "APIVersions", "versions": None}, "`versions` of the answer must be a list, seen null"),
    ("groups", {"kind": "APIVersions", "versions": []}, "`groups` of the answer must be a list, seen none"),
    ("resources", {"kind": "APIResourceList", "resources": "a"}, "`resources` of the answer must be a list, seen string"),
    ("allowed", {"kind": "SelfSubjectAccessReview"}, "`status` of the answer must be a map, seen none"),
]


@run_each(("call", "answer", "message"), FOREIGN)
async def test_what_no_api_server_answers_is_an_api_server_that_is_not_there(call: str, answer: Node, message: str) -> None:
    async def foreign(_: web.Request) -> web.StreamResponse:
        return web.json_response(answer)

    async with connected(foreign) as (client, _server):
        with pytest.raises(UnavailableError) as raised:
            await CALLS[call](client)
    assert message in raised.value.message
    assert raised.value.message.endswith("; check that the address is that of a Kubernetes API server")


async def test_lists_of_nothing_are_lists() -> None:
    async def nothing(_: web.Request) -> web.StreamResponse:
        return web.json_response({"kind": "List", "metadata": {}, "items": None, "resources": None})

    async with connected(nothing) as (client, _):
        assert (await client.list(CONFIG_MAPS)).items == []
        assert (await client.page(CONFIG_MAPS)).items == []
        assert await client.resources("", "v1") == []


@run_each(
    ("write", "method", "kind", "query"),
    [
        (lambda client: client.create(CONFIG_MAPS, CONFIG), "POST", "application/json", "?fieldManager=me"),
        (lambda client: client.replace(CONFIG_MAPS, CONFIG), "PUT", "application/json", "?fieldManager=me"),
        (lambda client: client.json_patch(CONFIG_MAPS, "a", [], "n"), "PATCH", "application/json-patch+json", "?fieldManager=me"),
        (lambda client: client.merge_patch(CONFIG_MAPS, "a", {}, "n"), "PATCH", "application/merge-patch+json", "?fieldManager=me"),
        (
            lambda client: client.apply(CONFIG_MAPS, CONFIG, manager="other", force=True, dry_run=True),
            "PATCH",
            "application/apply-patch+yaml",
            "?fieldManager=other&dryRun=All&force=true",
        ),
    ],
)
async def test_each_write_says_what_it_is(write: Callable[[Client], Awaitable[Node]], method: str, kind: str, query: str) -> None:
    async with connected(plain) as (client, server):
        assert await write(client) == CONFIG
    ((verb, url, headers, body),) = server.asked
    assert (verb, headers["Content-Type"], headers["Authorization"], headers["User-Agent"]) == (method, kind, "bearer t", "me")
    assert headers["Accept-Encoding"] == "identity"  # API servers pack long answers otherwise, for a second of CPU each hundred megabytes
    assert url == "/api/v1/namespaces/n/configmaps" + ("" if method == "POST" else "/a") + query
    assert json.loads(body) in (CONFIG, [], {})


async def _drop(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


@run_each(
    ("call", "methods"),
    [
        (lambda client: client.get(CONFIG_MAPS, "a", "n"), ["GET", "GET"]),
        (lambda client: client.create(CONFIG_MAPS, CONFIG), ["POST"]),
        (lambda client: client.replace(CONFIG_MAPS, CONFIG), ["PUT"]),
        (lambda client: client.merge_patch(CONFIG_MAPS, "a", {}, "n"), ["PATCH"]),
        (lambda client: client.delete(CONFIG_MAPS, "a", "n"), ["DELETE"]),
    ],
)
async def test_only_a_read_is_asked_once_more_when_its_connection_breaks(
    call: Callable[[Client], Awaitable[object]], methods: list[str]
) -> None:
    async with connected(_drop) as (client, server):
        with pytest.raises(UnavailableError, match="can't be reached"):
            await call(client)
        assert [request[0] for request in server.asked] == methods


async def test_a_read_that_breaks_once_succeeds() -> None:
    drops = iter([True, False])

    async def answer(request: web.Request) -> web.StreamResponse:
        return await (_drop if next(drops) else plain)(request)

    async with connected(answer) as (client, _):
        assert await client.get(CONFIG_MAPS, "a", "n") == CONFIG


async def test_a_server_that_does_not_answer_is_unavailable_and_not_asked_again() -> None:
    async def never(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(3600)
        return web.Response()

    async with connected(never, patience=0.05) as (client, server):
        with pytest.raises(UnavailableError, match="no answer in time"):
            await client.get(CONFIG_MAPS, "a", "n")
        assert len(server.asked) <= 1  # none, when the machine was too busy to ask in time


async def test_requests_are_counted_by_what_came_back_and_host_as_configured() -> None:
    async def by_method(request: web.Request) -> web.StreamResponse:
        if request.method == "PUT":
            return await _drop(request)
        if request.query.get("watch"):
            return web.Response(text='{"type": "BOOKMARK", "object": {}}\n')
        return web.json_response(CONFIG, status=409 if request.method == "POST" else 200)

    traffic: Traffic = Counter()
    async with connected(by_method, traffic=traffic) as (client, server):
        for _ in range(2):
            await client.get(CONFIG_MAPS, "a-name", "n")
        async with aclosing(client.watch(CONFIG_MAPS, "n", version="1")) as events:
            assert [event.type async for event in events] == ["BOOKMARK"]
        with pytest.raises(ConflictError):
            await client.create(CONFIG_MAPS, CONFIG)
        with pytest.raises(UnavailableError):
            await client.replace(CONFIG_MAPS, CONFIG)
        [host] = {headers["Host"] for _, _, headers, _ in server.asked}
    assert traffic == {
        RequestLabels("200", "GET", host): 3,
        RequestLabels("409", "POST", host): 1,
        RequestLabels(NO_ANSWER, "PUT", host): 1,
    }


async def test_a_timeout_and_a_closed_port_count_as_no_answer() -> None:
    arrived, traffic = asyncio.Event(), Counter[RequestLabels]()

    async def never(_: web.Request) -> web.StreamResponse:
        arrived.set()
        await asyncio.sleep(3600)
        return web.Response()

    async with connected(never, traffic=traffic) as (client, _):
        asking = asyncio.ensure_future(client.get(CONFIG_MAPS, "a", "n"))
        await arrived.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert [(sent.code, sent.method, count) for sent, count in traffic.items()] == [(NO_ANSWER, "GET", 1)]
    deaf = Client(Connection(Configuration(host="https://127.0.0.1:1"), agent="me", traffic=traffic), "me")
    with pytest.raises(UnavailableError) as refused:
        await deaf.get(CONFIG_MAPS, "a", "n")
    assert refused.value.code == 0
    await deaf.close()
    assert traffic[RequestLabels(NO_ANSWER, "GET", "127.0.0.1:1")] == 1


@run_each(
    ("url", "host"),
    [
        ("https://10.0.0.1:443", "10.0.0.1:443"),
        ("https://[fd00::1]:6443/behind/a/proxy", "[fd00::1]:6443"),
        ("https://who:hunter2@api.example:6443", "api.example:6443"),
        ("https://api.example", "api.example"),
    ],
)
def test_the_host_is_the_configured_one_and_no_secret(url: str, host: str) -> None:
    assert host_of(f"{url}/api/v1/namespaces/n/configmaps/a?limit=1") == host


async def test_what_the_server_quotes_of_a_secret_is_not_repeated() -> None:
    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.json_response({"reason": "BadRequest", "message": 'cannot decode "hunter2"'}, status=400)

    async with connected(refuse) as (client, _):
        for write in (client.merge_patch(SECRETS, "s", {}, "n"), client.json_patch(SECRETS, "s", [], "n")):
            with pytest.raises(Exception, match="BadRequest") as refused:
                await write
            assert "hunter2" not in str(refused.value)


async def test_a_list_that_outlives_its_first_page_is_read_again_whole() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if "continue" in request.query:
            return web.json_response({"reason": "Expired", "message": "too old"}, status=410)
        if request.query.get("limit"):
            return web.json_response(listed("1", "a", more="next"))
        return web.json_response(listed("9", "b", "c"))

    async with connected(answer) as (client, _):
        listing = await client.list(CONFIG_MAPS, "n", limit=1)
    assert listing.version == "9"
    assert [item["metadata"]["name"] for item in listing.items] == ["b", "c"]


async def test_a_watch_ends_in_order_or_says_what_broke_it() -> None:
    line = b'{"type": "ADDED", "object": {"metadata": {"name": "a"}}}\n'
    endings = iter([b"", b'{"type": "ERROR", "object": {"code": 410, "message": "too old"}}\n', None])

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(line[:10])
        await response.write(line[10:])
        ending = next(endings)
        if ending is None:
            assert request.transport is not None
            request.transport.close()
        elif ending:
            await response.write(ending)
        return response

    async def names() -> list[str]:
        async with aclosing(client.watch(CONFIG_MAPS, "n", version="5")) as events:
            return [event.object["metadata"]["name"] async for event in events]

    async with connected(answer) as (client, server):
        assert await names() == ["a"]
        with pytest.raises(GoneError):
            await names()
        with pytest.raises(UnavailableError):
            await names()
    assert server.asked[0][1] == "/api/v1/namespaces/n/configmaps?watch=1&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=300"


def test_a_watch_that_is_left_leaves_no_connection_behind_it() -> None:
    """Also when the server never takes its leave: the loop may end with the next turn."""
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    answered = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + b'{"type": "ADDED", "object": {"metadata": {"name": "a"}}}\n'

    async def look(port: int, authority: str) -> None:
        configuration = Configuration(host=f"https://127.0.0.1:{port}", ssl_ca_cert=authority)
        client = Client(Connection(configuration, agent="me"), "me")
        async with aclosing(client.watch(CONFIG_MAPS, "n", version="5")) as events:
            assert (await anext(events)).object["metadata"]["name"] == "a"
        await client.close()

    with socket.create_server(("127.0.0.1", 0)) as listening, authority.cert_pem.tempfile() as trusted:
        silent = Thread(target=_say, args=(listening, context, answered, ended := Event()))
        silent.start()
        try:
            asyncio.run(look(listening.getsockname()[1], trusted))
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                gc.collect()
        finally:
            ended.set()
            silent.join()
    assert [str(each.message) for each in seen if each.category is ResourceWarning] == []


def _say(listening: socket.socket, context: ssl.SSLContext, answered: bytes, ended: Event) -> None:
    """Answers one request, and then neither reads nor closes."""
    raw, _ = listening.accept()
    with context.wrap_socket(raw, server_side=True) as connection:
        connection.recv(65_536)
        connection.sendall(answered)
        ended.wait(30)


async def test_the_servers_clock_is_that_of_its_last_answer_while_that_is_recent() -> None:
    time = [100.0]

    async def answer(request: web.Request) -> web.StreamResponse:
        date = "Mon, 01 Jan 2035 00:00:00 GMT" if request.path == "/version" else "Sun, 31 Dec 2034 00:00:00 GMT"
        return web.json_response(CONFIG, headers={"Date": date})

    async with connected(answer, clock=lambda: time[0]) as (client, server):
        await client.get(CONFIG_MAPS, "a", "n")
        time[0] += 7.9
        assert await client.server_time() == datetime(2034, 12, 31, 0, 0, 7, tzinfo=UTC)
        time[0] += 3
        assert await client.server_time() == datetime(2035, 1, 1, tzinfo=UTC)
    assert [request[1] for request in server.asked] == ["/api/v1/namespaces/n/configmaps/a", "/version"]


async def test_a_token_that_cannot_be_read_is_no_traceback_of_files() -> None:
    def broken(_: Configuration) -> None:
        raise OSError("no such file")

    configuration: Any = Configuration(host="http://127.0.0.1:1", api_key={"BearerToken": "t"})
    configuration.refresh_api_key_hook = broken
    client = Client(Connection(configuration, agent="me"), "me")
    with pytest.raises(UnavailableError, match="the token can't be read"):
        await client.get(CONFIG_MAPS, "a", "n")
    await client.close()


async def test_the_environments_proxy_is_taken_but_for_hosts_that_it_excepts(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(plain) as (client, server):
        await client.get(CONFIG_MAPS, "a", "n")
        monkeypatch.setenv("http_proxy", f"http://{server.asked[0][2]['Host']}")
        for excepted, seen in (("", 2), ("api.invalid", 2)):
            monkeypatch.setenv("no_proxy", excepted)
            far = Client(Connection(Configuration(host="http://api.invalid:6443"), agent="me"), "me")
            if excepted:
                with pytest.raises(UnavailableError, match="can't be reached"):
                    await far.get(CONFIG_MAPS, "a", "n")
            else:
                assert await far.get(CONFIG_MAPS, "a", "n") == CONFIG
            await far.close()
            assert len(server.asked) == seen
    assert server.asked[1][2]["Host"] == "api.invalid:6443"


async def test_a_users_netrc_is_never_a_credential(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login somebody password hunter2\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    async with connected(plain) as (client, server):
        assert await client.get(CONFIG_MAPS, "a", "n") == CONFIG
    assert server.asked[0][2]["Authorization"] == "bearer t"


async def test_what_one_encoder_refuses_is_sent_by_the_other() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"a": deep}
    async with connected(plain) as (client, server):
        await client.create(CONFIG_MAPS, {**CONFIG, "data": deep})
    assert json.loads(server.asked[0][3]) == {**CONFIG, "data": deep}


@run_each("name", ["../../other/secrets/x", "a/status", "..", ".", "a%2fstatus"])
async def test_nothing_is_asked_with_a_name_that_would_be_another_path(name: str) -> None:
    async with connected(plain) as (client, server):
        for call in (
            client.get(CONFIG_MAPS, name, "n"),
            client.merge_patch(CONFIG_MAPS, name, {}, "n"),
            client.json_patch(CONFIG_MAPS, name, [], "n"),
            client.delete(CONFIG_MAPS, name, "n"),
            client.apply(CONFIG_MAPS, {**CONFIG, "metadata": {"name": name, "namespace": "n"}}, manager="me"),
        ):
            with pytest.raises(InvalidError, match=r"metadata.name: must be one segment of a path, got "):
                await call
        for read in (client.get(CONFIG_MAPS, "n", name), client.list(CONFIG_MAPS, name)):
            with pytest.raises(InvalidError, match=r"metadata.namespace: must be one segment of a path, got "):
                await read
        assert server.asked == []


@run_each(
    ("name", "sent"),
    [
        ("a?limit=1", "a%3Flimit=1"),
        ("a#b", "a%23b"),
        ("a b", "a%20b"),
        ("system:node", "system:node"),
        ("é", "%C3%A9"),
    ],
)
async def test_a_name_is_escaped(name: str, sent: str) -> None:
    async with connected(plain) as (client, server):
        await client.get(CONFIG_MAPS, name, "n")
        assert [(method, path) for method, path, *_ in server.asked] == [("GET", f"/api/v1/namespaces/n/configmaps/{sent}")]


LIGHT = "answers, clocks, capability, config, errors, events, lease, protocol, reflector, resources, scope"


def test_the_kubernetes_package_is_loaded_with_the_client_alone() -> None:
    program = f"import sys; from dynamo_webhooks.kube import {LIGHT}; print('kubernetes' in sys.modules, 'aiohttp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
