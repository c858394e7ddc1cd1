"""What stays in memory: pages, objects, and caches that nothing bounds."""

import functools
import gc
from collections.abc import Mapping
from pathlib import Path
from typing import Final

# ours, and what answers are made with; caches of test code may grow
_OURS: Final = "dynamo_webhooks."


def resident(pid: int | str = "self") -> float:
    """Megabytes of a process that no other shares, after what can be freed has been (in this process)."""
    if pid == "self":
        gc.collect()
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("RssAnon:"))) / 1024


def unbounded() -> Mapping[str, int]:
    """The caches of ours that have no bound, by name, and how much is in each."""
    caches = [obj for obj in gc.get_objects() if isinstance(obj, functools._lru_cache_wrapper)]
    ours = [cache for cache in caches if str(getattr(cache, "__module__", "")).startswith(_OURS)]
    return {f"{cache.__module__}.{cache.__qualname__}": cache.cache_info().currsize for cache in ours if cache.cache_info().maxsize is None}
