"""Finds Dynamo objects in documents: ignores other kinds, unfolds lists, reports misspelt kinds."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from ...api.kinds import BY_NAME, GROUP
from ...api.wording import shorten
from ..console.kind_names import find_kind
from ..console.nearest import did_you_mean
from ..yaml.load import Document

Fields = dict[str, Any]

NO_KIND: Final = "(no kind)"  # shown for an object with a Dynamo version and no kind
NO_VERSION: Final = "(no version)"  # shown for an object with a Dynamo kind and no version


class Identity(NamedTuple):
    """Identity of an object, whatever its version."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """Writes `Kind namespace/name`."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}".rstrip()


class Manifest(NamedTuple):
    """One Dynamo object in its document; `known` is False if its kind or version doesn't exist."""

    document: Document
    identity: Identity
    version: str
    known: bool

    @property
    def data(self) -> Fields:
        """The object as written."""
        data: Fields = self.document.data
        return data


def set_namespace(manifest: Manifest, namespace: str) -> Manifest:
    """The object in a namespace, where it names none: its data change as kubectl changes its request."""
    metadata = manifest.data.get("metadata") or {}
    if not namespace or not isinstance(metadata, dict) or metadata.get("namespace"):
        return manifest
    manifest.data["metadata"] = {**metadata, "namespace": namespace}
    return manifest._replace(identity=manifest.identity._replace(namespace=namespace))


def find_manifests(documents: Iterable[Document]) -> Iterator[Manifest]:
    """The Dynamo objects, in their order in the document."""
    return (item for item in unfold_all(documents) if isinstance(item, Manifest))


def unfold_all(documents: Iterable[Document]) -> Iterator[Manifest | Document]:
    """All objects, those of other kinds as their documents."""
    for document in documents:
        for item in unfold_list(document):
            yield _ours(item) or item


def unfold_list(document: Document, depth: int = 0) -> Iterator[Document]:
    """The objects of a document of whatever kind: itself, or the items of the list that it is."""
    data = document.data
    if not isinstance(data, dict):
        return
    items, kind = data.get("items"), data.get("kind")
    if isinstance(items, list) and isinstance(kind, str) and kind.endswith("List") and depth < 5:
        for index in range(len(items)):
            yield from unfold_list(document.item(("items", index)), depth + 1)
    else:
        yield document


def _ours(document: Document) -> Manifest | None:
    data = document.data
    api_version, kind = data.get("apiVersion"), data.get("kind")
    if (not isinstance(api_version, str) or not api_version) and isinstance(kind, str) and kind in BY_NAME:
        api_version = f"{GROUP}/{NO_VERSION}"  # a server refuses it, too
    if not isinstance(api_version, str):
        return None
    group, _, version = api_version.partition("/")
    if group != GROUP:
        if kind not in BY_NAME:
            return None
        version = api_version  # no other group has a kind of such a name, so that this is a slip of the pen
    if not isinstance(kind, str) or not kind:
        kind = NO_KIND  # a server refuses it, whatever it was meant to be
    # other products of the same group have kinds of their own; ours all begin with one word, or have a short name
    elif not (kind in BY_NAME or kind.lower().startswith("dynamo") or find_kind(kind)):
        return None
    known = group == GROUP and kind in BY_NAME and BY_NAME[kind].has(version)
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    identity = Identity(shorten(kind, 80), shorten(_text(metadata.get("namespace")), 300), shorten(_name(metadata), 300))
    return Manifest(document, identity, version, known)


def _name(metadata: Fields) -> str:
    generated = _text(metadata.get("generateName"))
    return _text(metadata.get("name")) or (f"{generated}*" if generated else "")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def explain_unknown_kind(manifest: Manifest) -> str:
    """Explain why a kind or version doesn't exist, as the end of a sentence that begins with the field."""
    kind, written = manifest.identity.kind, manifest.data.get("apiVersion")
    if kind in BY_NAME:
        versions = [known.name for known in BY_NAME[kind].versions]
        wanted = " or ".join(f"{GROUP}/{name}" for name in versions)
        group = written.rpartition("/")[0] if isinstance(written, str) else GROUP
        got = "nothing" if manifest.version == NO_VERSION else f'"{str(written)[:80]}"'
        return f"must be {wanted} for {kind}, got {got}{did_you_mean(group, [GROUP]) if group != GROUP else ''}"
    if kind == NO_KIND:
        return f"must be given: a kind of {GROUP}, such as DynamoGraphDeployment"
    return f'must be a kind of {GROUP}, got "{kind[:80]}"{did_you_mean(find_kind(kind) or kind, BY_NAME)}'
