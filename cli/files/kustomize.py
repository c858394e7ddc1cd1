"""The objects that a kustomization renders, as one text; the program that renders is the user's own, and fetches nothing."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ...api.wording import shorten
from ..console.exits import UsageError
from ..yaml.load import InputError, Source
from . import remote_bases
from .rendering import LONGEST, render

# the first that is there
_PROGRAMS: Final = (("kustomize", "build"), ("kubectl", "kustomize"))


def command(folder: str) -> tuple[str, ...]:
    """What renders a folder here. Raises: UsageError when no program does, or the folder can't be one."""
    if not folder or folder.startswith("-") or "\0" in folder:
        raise UsageError(f"-k {folder!a}: must be a folder with a kustomization")
    if remote_bases.is_address(folder) and not Path(folder).is_dir():
        raise UsageError(f"-k {remote_bases.strip_credentials(folder)}: must be a local folder; nothing is fetched, so clone it first")
    for program in _PROGRAMS:
        if shutil.which(program[0]):
            return (*program, folder)
    raise UsageError("-k needs kustomize or kubectl, and neither can be found")


def render_kustomization(folder: str, words: Sequence[str]) -> Source | InputError:
    """What a folder renders to by a command, named after it, or why there is nothing. Lines are those of the rendered text."""
    name = f"kustomize:{folder}"
    try:
        found = remote_bases.first(folder)
    except InputError as error:
        return error
    if found is not None:
        text = f"{found.field} must be a local file or folder, got {shorten(found.address, LONGEST)}; nothing is fetched, so"
        return InputError(f"{text} keep a copy beside it, or render it yourself and check the output", found.file, found.line, found.column)
    return render(words, name)  # the folder begins with no hyphen
