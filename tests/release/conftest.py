"""What tests of releases share: the wheel, and the pyz of it for this interpreter, each made once a process."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.manifests.conftest import wheel
from tests.manifests.environment import files, needed
from tools.release.archives import write_pyz, write_zip

__all__ = ["wheel"]


@pytest.fixture(scope="session")
def wheels(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheel, and what it needs as wheels again, made of what is installed here."""
    folder = tmp_path_factory.mktemp("wheels")
    paths = [wheel]
    for name in sorted(needed(metadata.distribution("dynamo-webhooks"))):
        paths.append(folder / f"{name}.whl")
        write_zip(paths[-1], {str(file): file.read_binary() for file in files(name)}, 0)
    return paths


@pytest.fixture(scope="session")
def packed(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pyz."""
    target = tmp_path_factory.mktemp("pyz") / "dynamo-webhooks.pyz"
    write_pyz(wheels, target, 0)
    return target


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter without any package, not even pip."""
    place = tmp_path_factory.mktemp("bare") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    assert not any(place.glob("lib/python3*/site-packages/*"))
    return place / "bin" / "python"
