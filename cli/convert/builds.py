"""Finds in all files of a run the builds of the first releases, which know the images that deployments refer to by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.cli.files import STDIN, load_text
from dynamo_webhooks.cli.legacy.recognise import recognised
from dynamo_webhooks.cli.yaml.errors import InputError
from dynamo_webhooks.cli.yaml.load import Document, Source, read

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMES: Final = ("DynamoComponent", "DynamoNim")  # what the kinds of builds begin with


def builds(files: Iterable[str | InputError]) -> list[Any]:
    """The documents that may be builds; files that can't be read are told of elsewhere, standard input can't be read twice."""
    found: list[Any] = []
    for file in files:
        if isinstance(file, InputError) or file == STDIN:
            continue
        try:
            text = load_text(file)
        except InputError:
            continue
        if any(name in text for name in _NAMES):
            documents = [one.data for one in read(Source(file, text)) if isinstance(one, Document)]
            found += [data for data in documents if recognised(data) is not None]
    return found
