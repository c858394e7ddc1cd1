"""A headless Chromium, driven by its own protocol: opens a page of a file, asks it what it shows, and takes a picture of it."""

import asyncio
import base64
import contextlib
import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from itertools import count
from pathlib import PurePath
from typing import Any, Final

import aiohttp

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
_WAIT: Final = 60  # seconds for one answer
_FLAGS: Final = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
    "--hide-scrollbars",
)


def program() -> str | None:
    """The browser of this machine; None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a browser, and all that it told: what was asked of the network, and what its policy forbade."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = count(1)
        self._session = ""
        self._loaded = False
        self.requested: list[str] = []
        self.complaints: list[str] = []

    async def call(self, method: str, **parameters: Any) -> Any:
        """Calls a method of the protocol. Raises: RuntimeError when it fails."""
        number = next(self._numbers)
        session = {"sessionId": self._session} if self._session else {}
        await self._socket.send_json({"id": number, "method": method, "params": parameters, **session})
        while True:
            message = await self._next()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    async def _next(self) -> Any:
        message = json.loads((await self._socket.receive(_WAIT)).data)
        what, event = message.get("method"), message.get("params") or {}
        if what == "Network.requestWillBeSent":
            self.requested.append(event["request"]["url"].partition(",")[0])
        elif what == "Target.attachedToTarget" and self._session:  # a worker, which waits until it is watched
            for method in ("Network.enable", "Runtime.runIfWaitingForDebugger"):
                await self._socket.send_json({"id": next(self._numbers), "method": method, "params": {}, "sessionId": event["sessionId"]})
        elif what == "Page.loadEventFired":
            self._loaded = True
        elif what == "Log.entryAdded":
            self.complaints.append(event["entry"]["text"])
        elif what == "Runtime.exceptionThrown":
            self.complaints.append(event["exceptionDetails"]["text"])
        return message

    async def open(self, file: PurePath | str, *, dark: bool = False, width: int = 1_100) -> None:
        """Shows a file, named absolutely, or an address, when it has been loaded."""
        if not self._session:
            target = await self.call("Target.createTarget", url="about:blank")
            self._session = (await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True))["sessionId"]
            for domain in ("Page", "Network", "Log", "Runtime"):
                await self.call(f"{domain}.enable")
            await self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        await self._leave("Page.navigate", url=file if isinstance(file, str) else file.as_uri())

    async def follow(self, link: str) -> None:
        """Clicks a link to another page, named by a selector, and waits until that has been loaded."""
        await self._leave("Runtime.evaluate", expression=f"document.querySelector({json.dumps(link)}).click()")

    async def _leave(self, method: str, **parameters: Any) -> None:
        self._loaded = False
        await self.call(method, **parameters)
        async with asyncio.timeout(_WAIT):
            while not self._loaded:
                await self._next()

    async def ask(self, expression: str) -> Any:
        """The value of an expression in the page. Raises: RuntimeError where it throws."""
        result = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    async def picture(self, height: int = 900) -> bytes:
        """The upper part of the page, as PNG."""
        clip = {"x": 0, "y": 0, "width": await self.ask("innerWidth"), "height": height, "scale": 1}
        return base64.b64decode((await self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True))["data"])


@contextlib.asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """A browser with a profile of its own, ended afterwards. Raises: RuntimeError where there is none, or it does not start."""
    path = program()
    if path is None:
        raise RuntimeError(f"none of {', '.join(NAMES)} is on the PATH")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        words = (path, *_FLAGS, f"--user-data-dir={profile}", "about:blank")
        process = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE)
        try:
            address = await asyncio.wait_for(_address(process), _WAIT)
            async with aiohttp.ClientSession() as session, session.ws_connect(address, max_msg_size=0) as socket:
                yield Browser(socket)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async for line in process.stderr:
        text = line.decode(errors="replace")
        if "DevTools listening on " in text:
            return text.partition("listening on ")[2].strip()
    raise RuntimeError("the browser ended before it said where it listens")


def luminance(colour: str) -> float:
    """How bright a colour such as rgb(1, 2, 3) is, as WCAG has it."""
    parts = [int(word) / 255 for word in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: float, other: float) -> float:
    """The ratio of WCAG between two."""
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)
