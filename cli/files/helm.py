"""The objects that a Helm chart renders, as one text; helm is the user's own, and is asked for a local chart alone."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from ..console.exits import UsageError
from ..yaml.load import InputError, Source
from .find import CHART
from .programs import render


def command(folder: str, values: Sequence[str]) -> tuple[str, ...]:
    """What renders a chart here. Raises: UsageError when helm can't be found, the folder is no chart, or values are no local file."""
    if not folder or folder.startswith("-") or "\0" in folder or not (Path(folder) / CHART).is_file():
        raise UsageError(f"--helm {folder!a}: must be a local folder with a {CHART}")
    for file in values:
        # helm would fetch addresses, and takes a comma for the end of a name
        if "," in file or "\0" in file or not Path(file).is_file():
            raise UsageError(f"--values {file!a}: must be a local file, and have no comma in its name")
    if not shutil.which("helm"):
        raise UsageError("--helm needs helm, which can't be found; render the chart elsewhere, and check the output")
    return ("helm", "template", folder, *(f"--values={file}" for file in values))


def render_chart(folder: str, words: Sequence[str]) -> Source | InputError:
    """What a chart renders to by a command, named after it, or why there is nothing. Lines are those of the rendered text."""
    return render(words, f"helm:{folder}")
