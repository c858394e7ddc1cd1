"""The wheel, built once a run."""

import fcntl
from pathlib import Path

import pytest

from tests.manifests.environment import build_wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Whichever worker comes first builds it, the others wait."""
    base = tmp_path_factory.getbasetemp()
    place = (base if worker_id == "master" else base.parent) / "wheel"
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return next(place.glob("wheel/*.whl"), None) or build_wheel(place)
