"""Finds in all files of a run the builds of the first releases, which know the images that deployments refer to by name."""

from collections.abc import Iterable
from typing import Any, Final

from ...files.read import STDIN, load_text
from ...legacy.recognise import recognise
from ...yaml.errors import InputError
from ...yaml.load import Document, Source, read_text

_NAMES: Final = ("DynamoComponent", "DynamoNim")  # what the kinds of builds begin with


def builds(files: Iterable[str | InputError]) -> list[Any]:
    """Documents that may be builds. Unreadable files are reported elsewhere; standard input can't be read twice."""
    found: list[Any] = []
    for file in files:
        if isinstance(file, InputError) or file == STDIN:
            continue
        try:
            text = load_text(file)
        except InputError:
            continue
        if any(name in text for name in _NAMES):
            documents = [one.data for one in read_text(Source(file, text)) if isinstance(one, Document)]
            found += [data for data in documents if recognise(data) is not None]
    return found
