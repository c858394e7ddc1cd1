"""Programs for fixtures: those that are not there are built, and without Go the tests are skipped, but never in CI."""

import os
import shutil
from pathlib import Path

import pytest

from tests.cluster.assets.build import AssetSet, build, find


def wanted(assets: AssetSet) -> Path:
    """The directory of a set."""
    if find(assets) is None and shutil.which("go") is None and not os.environ.get("CI"):
        pytest.skip(f"{', '.join(assets.programs)}: there is no go to build them with, and none were built before")
    return build(assets)
