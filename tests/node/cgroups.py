"""Makes a folder of cgroups for the pods of a run, and removes it with those of runs that were killed."""

import contextlib
import os
from pathlib import Path
from typing import Final

_CGROUPS: Final = Path("/sys/fs/cgroup")
_PREFIX: Final = "dynamo-node-"
# of all pods together: as much as twenty processes outside, where one at a time would starve their probes
_WEIGHTS: Final = {"cpu.shares": 20 * 1024, "cpu.weight": 20 * 100}


def make_cgroups(machines: int) -> str:
    """Makes one for this process, in each hierarchy, and in it one for each of two nodes of each machine; returns its name."""
    name = f"{_PREFIX}{os.getpid()}"
    for hierarchy in find_hierarchies():
        parts = [part for machine in range(machines) for part in (f"{machine}", f"{machine}/0", f"{machine}/1")]
        for folder in (hierarchy / name / part for part in (".", *parts)):
            folder.mkdir()
            for setting in ("cpuset.cpus", "cpuset.mems"):  # which are empty in a new one of version 1
                if (hierarchy / setting).exists():
                    (folder / setting).write_text((hierarchy / setting).read_text())
        for setting, weight in _WEIGHTS.items():
            if (hierarchy / name / setting).exists():
                (hierarchy / name / setting).write_text(str(weight))
    return name


def remove_cgroups(name: str = "") -> list[str]:
    """Removes those of a run that has ended; without a name those of all processes that are gone. Returns the folders that stay."""
    left = []
    for hierarchy in find_hierarchies():
        for top in hierarchy.glob(name or f"{_PREFIX}*"):
            if not name and Path("/proc", top.name.removeprefix(_PREFIX)).exists():
                continue
            for folder in sorted((Path(folder) for folder, _, _ in os.walk(top)), reverse=True):
                with contextlib.suppress(OSError):
                    folder.rmdir()
            if top.exists():
                left.append(str(top))
    return left


def find_hierarchies() -> list[Path]:
    """The folders that cgroups of version 1 lie in, one for each controller; the only one of version 2."""
    if (_CGROUPS / "cgroup.controllers").exists():
        return [_CGROUPS]
    return sorted(path for path in _CGROUPS.iterdir() if path.is_dir() and not path.is_symlink())
