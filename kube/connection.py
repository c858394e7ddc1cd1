"""One request to an API server and its answer: tokens and trust by kubernetes.aio's ApiClient, time limits, errors, the server's clock."""

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.config import ConfigException
from yarl import URL

from .answers import LineSplitter, decode_answer, decode_event, make_error
from .config import ConfigError
from .errors import UnavailableError
from .protocol import Event, Node, RequestLabels, Traffic

NO_ANSWER: Final = "<error>"  # in place of a status: no server listened, the connection broke, or the caller stopped waiting
_JSON: Final = "application/json"
_PLAIN: Final = "identity"  # packing long lists costs an API server more than sending them, and us more than reading them
_CONNECT_TIMEOUT_SECONDS: Final = 10.0  # with the handshake
_WATCH_SLACK_SECONDS: Final = 30.0  # beyond its end, after which a watch is a dead connection
_READ_AHEAD_BYTES: Final = 2**21  # an event of a watch in one piece
_MAX_CLOCK_AGE_SECONDS: Final = 10.0  # for which a Date header, advanced by the local monotonic clock, still gives the server's time


class Connection:
    """An API server's address, with credentials and a pool of connections."""

    def __init__(
        self,
        configuration: Configuration,
        *,
        agent: str,
        patience: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        traffic: Traffic | None = None,
    ) -> None:
        """`patience` is seconds for a whole request; `traffic` counts requests. Raises ConfigError when CA or client key can't be read."""
        try:
            self._api: Any = ApiClient(configuration)
        except (OSError, ValueError) as error:
            raise ConfigError(f"the connection's CA or client certificate can't be used: {error}") from error
        self._session: aiohttp.ClientSession | None = None
        self._options = _options(configuration)
        self._agent = agent
        self._patience = patience
        self._clock = clock
        self._traffic = traffic
        self._server_time: tuple[datetime, float] | None = None  # the server's time, and when on our clock it said so

    async def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Node | Sequence[Node] | None = None,
        *,
        kind: str = _JSON,
        accept: str = _JSON,
        secret: bool = False,
    ) -> Node:
        """Sends one request and gives its JSON object, `kind` being the type of the body, `accept` that of the answer.

        With `secret`, the body holds secret values, and no message will quote an answer that may repeat them.
        Raises a subclass of ApiError.
        """
        request = f"{method.lower()} {path}"
        limit = aiohttp.ClientTimeout(total=self._patience, sock_connect=_CONNECT_TIMEOUT_SECONDS)
        try:
            answer = await self._send(method, path, query, body, kind, limit, accept)
            content: bytes = await answer.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _make_unreached_error(request, error) from error
        if not 200 <= answer.status < 300:
            raise make_error(answer.status, content, request, secret=secret)
        return decode_answer(content, request)

    async def stream(self, path: str, query: Mapping[str, Any], seconds: float) -> AsyncGenerator[Event]:
        """Streams the events of a watch; ends when the server ends it. Raises GoneError, and UnavailableError when it breaks."""
        request, lines = f"watch {path}", LineSplitter()
        limit = aiohttp.ClientTimeout(total=seconds + _WATCH_SLACK_SECONDS, sock_connect=_CONNECT_TIMEOUT_SECONDS)
        try:
            answer = await self._send("GET", path, query, None, _JSON, limit)
            try:
                if answer.status != 200:
                    raise make_error(answer.status, await answer.read(), request, secret=False)
                async for chunk in answer.content.iter_any():
                    for line in lines.feed(chunk):
                        yield decode_event(line, request)
            finally:
                _drop(answer)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _make_unreached_error(request, error) from error

    async def time(self) -> datetime:
        """The server's clock, UTC, in whole seconds; asks for `/version` when no answer is recent."""
        if self._server_time is None or self._clock() - self._server_time[1] > _MAX_CLOCK_AGE_SECONDS:
            self._server_time = None
            await self.ask("GET", "/version")
        if self._server_time is None:
            raise UnavailableError(0, "", "get /version: the answer must have a Date header, seen none")
        server_time, at = self._server_time
        return server_time + timedelta(seconds=int(self._clock() - at))

    async def close(self) -> None:
        """Closes all connections."""
        if self._session is not None:
            await self._session.close()
        await self._api.close()

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: Any,
        kind: str,
        limit: aiohttp.ClientTimeout,
        accept: str = _JSON,
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": accept, "Accept-Encoding": _PLAIN, "Content-Type": kind, "User-Agent": self._agent}
        try:  # ApiClient reads a token again that may have been replaced
            await self._api.update_params_for_auth(headers, [], ["BearerToken"], path, method, None)
        except (ConfigException, ConfigError, OSError) as error:
            raise UnavailableError(0, "", f"{method.lower()} {path}: the token can't be read: {error}") from error
        given = {name: value for name, value in (query or {}).items() if value not in ("", None, False)}
        url = self._api.configuration.host + path + (f"?{urlencode(given)}" if given else "")
        code = NO_ANSWER
        try:
            content = None if body is None else _encode(body)
            where = URL(url, encoded=True)
            answer = await self._open_session().request(method, where, headers=headers, data=content, timeout=limit, **self._options)
            code = str(answer.status)
        finally:
            if self._traffic is not None:
                self._traffic[RequestLabels(code, method, host_of(url))] += 1
        self._note_date(answer.headers.get("Date", ""))
        return answer

    def _open_session(self) -> aiohttp.ClientSession:
        """The session. It neither looks for proxies nor for `.netrc` with each request, for which aiohttp takes two threads."""
        if self._session is None:
            limit = self._api.configuration.connection_pool_maxsize
            connector = aiohttp.TCPConnector(limit=limit, ssl=self._api.rest_client.ssl_context)
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), middlewares=(_send_once,), read_bufsize=_READ_AHEAD_BYTES
            )
        return self._session

    def _note_date(self, date: str) -> None:
        with suppress(ValueError):  # no Date header, or an invalid one: the last one stays
            self._server_time = (parsedate_to_datetime(date).astimezone(UTC), self._clock())


def _drop(answer: aiohttp.ClientResponse) -> None:
    """Closes an answer's connection at once: over TLS aiohttp waits for the other side's farewell, and would outlive the event loop."""
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()
    answer.close()


async def _send_once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keeps aiohttp from repeating a write whose connection broke: the server may have executed it. A read may be repeated once."""
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        if request.method == "GET":
            raise
        raise aiohttp.ClientConnectionError(str(error)) from error  # of a class that aiohttp doesn't answer with another attempt


def _options(configuration: Configuration) -> dict[str, Any]:
    """Builds the options of each request: the kubeconfig's proxy, or the environment's, as for kubectl; the server's name for TLS."""
    host, given = urlsplit(configuration.host), configuration.proxy
    if not given and not proxy_bypass(host.hostname or ""):
        given = getproxies().get(host.scheme)
    name, headers = configuration.tls_server_name, configuration.proxy_headers
    return {key: value for key, value in (("proxy", given), ("proxy_headers", headers), ("server_hostname", name)) if value}


def host_of(url: str) -> str:
    """Host and port of a URL, without a user name and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def _encode(body: Any) -> bytes:
    """The body as JSON; of more than 254 levels by the slower encoder, which has no such bound."""
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        return json.dumps(body).encode()


def _make_unreached_error(request: str, error: Exception) -> UnavailableError:
    reason = "no answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
    return UnavailableError(0, "", f"{request}: the API server can't be reached: {reason}")
