"""Finds the objects of our kinds in documents: other kinds are ignored, lists unfolded, misspelt kinds of ours reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from dynamo_webhooks.api.kinds import BY_NAME, GROUP
from dynamo_webhooks.api.wording import shortened
from dynamo_webhooks.cli.nearest import hint
from dynamo_webhooks.cli.yaml.load import Document

Fields = dict[str, Any]

NO_KIND: Final = "(no kind)"  # what an object is called that says a version of ours, but no kind
NO_VERSION: Final = "(no version)"  # its version where it says a kind of ours, but no version


class Identity(NamedTuple):
    """What names an object, whatever its version."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """Writes `Kind namespace/name`."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}".rstrip()


class Found(NamedTuple):
    """One object of a kind of ours, in the document that it stands in; `known` is False for a kind or version that doesn't exist."""

    document: Document
    identity: Identity
    version: str
    known: bool

    @property
    def data(self) -> Fields:
        """The object as written."""
        data: Fields = self.document.data
        return data


def objects(documents: Iterable[Document]) -> Iterator[Found]:
    """The objects of our kinds, in the order in which they stand."""
    return (one for one in every(documents) if isinstance(one, Found))


def every(documents: Iterable[Document]) -> Iterator[Found | Document]:
    """All objects, those of other kinds as their documents."""
    for document in documents:
        for one in unfolded(document):
            yield _ours(one) or one


def unfolded(document: Document, depth: int = 0) -> Iterator[Document]:
    """The objects of a document of whatever kind: itself, or the items of the list that it is."""
    data = document.data
    if not isinstance(data, dict):
        return
    items, kind = data.get("items"), data.get("kind")
    if isinstance(items, list) and isinstance(kind, str) and kind.endswith("List") and depth < 5:
        for index in range(len(items)):
            yield from unfolded(document.item(("items", index)), depth + 1)
    else:
        yield document


def _ours(document: Document) -> Found | None:
    data = document.data
    api_version, kind = data.get("apiVersion"), data.get("kind")
    if (not isinstance(api_version, str) or not api_version) and isinstance(kind, str) and kind in BY_NAME:
        api_version = f"{GROUP}/{NO_VERSION}"  # a server refuses it, too
    if not isinstance(api_version, str):
        return None
    group, _, version = api_version.partition("/")
    if group != GROUP:
        return None
    if not isinstance(kind, str) or not kind:
        kind = NO_KIND  # a server refuses it, whatever it was meant to be
    # other products of the same group have kinds of their own; ours all begin with one word
    elif not (kind in BY_NAME or kind.lower().startswith("dynamo")):
        return None
    known = kind in BY_NAME and BY_NAME[kind].has(version)
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return Found(
        document,
        Identity(shortened(kind, 80), shortened(_text(metadata.get("namespace")), 300), shortened(_name(metadata), 300)),
        version,
        known,
    )


def _name(metadata: Fields) -> str:
    generated = _text(metadata.get("generateName"))
    return _text(metadata.get("name")) or (f"{generated}*" if generated else "")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def unknown(kind: str, version: str) -> str:
    """What is wrong with a kind or version that does not exist, as the end of a sentence that begins with the field."""
    if kind in BY_NAME:
        versions = [known.name for known in BY_NAME[kind].versions]
        wanted = " or ".join(f"{GROUP}/{name}" for name in versions)
        got = "nothing" if version == NO_VERSION else f'"{GROUP}/{version[:80]}"'
        return f"must be {wanted} for {kind}, got {got}"
    if kind == NO_KIND:
        return f"must be given: a kind of {GROUP}, such as DynamoGraphDeployment"
    return f'must be a kind of {GROUP}, got "{kind[:80]}"{hint(kind, BY_NAME)}'
