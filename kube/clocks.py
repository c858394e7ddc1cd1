"""The clocks by which a process waits, retries and lets things expire; tests bring their own."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from .times import now


@dataclass(frozen=True, slots=True)
class Clocks:
    """The local clocks; `chance` gives numbers from 0 to 1, by which replicas don't act at the same moment."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], datetime] = now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random


LOCAL = Clocks()
