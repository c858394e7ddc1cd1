"""A table of YAML is read as `kubectl create --dry-run=client -o json` reads it: the same values, and what it refuses we refuse."""

import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from dynamo_webhooks.cli.yaml.load import InputError, load_documents
from tests.cluster.harness import ControlPlane
from tests.cluster.scalars import DIFFERENT, DIFFERENT_DOCUMENTS, DOCUMENTS, HEAD, ODD, WORDS

Read: TypeAlias = list[str] | None  # the documents as JSON in one spelling; None for what is refused


def _document(word: str) -> str:
    return f"{HEAD}x: {word}\n"


def _kubectl(plane: ControlPlane, text: str) -> tuple[Read, str]:
    """What kubectl reads, and what it says where it can't."""
    command: list[str | Path] = [
        plane.assets / "kubectl",
        "--kubeconfig",
        plane.kubeconfig,
        "create",
        "--dry-run=client",
        "--validate=false",
        "-o",
        "json",
    ]
    done = subprocess.run(
        [*command, "-f", "-"],
        input=text.encode(),
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, "HOME": str(plane.home)},
    )
    return (None if done.returncode else [_spelt(obj) for obj in _objects(done.stdout.decode())]), done.stderr.decode()


def _objects(output: str) -> Iterator[Any]:
    """The objects of an output, without what kubectl adds: the default namespace."""
    decoder, rest = json.JSONDecoder(), output.strip()
    while rest:
        found, end = decoder.raw_decode(rest)
        for obj in found["items"] if found["kind"] == "List" else [found]:
            del obj["metadata"]["namespace"]
            yield obj
        rest = rest[end:].strip()


def _ours(text: str) -> Read:
    try:
        return [_spelt(document.data) for document in load_documents(text)]
    except InputError:
        return None


def _spelt(value: Any) -> str:
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: Any) -> Any:
    """A value with numbers as an API server keeps them: integers of 64 bits, doubles for all others."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if type(value) is int and not -(2**63) <= value < 2**63:
        return float(value)
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**63 else value


def _disagreements(plane: ControlPlane, texts: Iterable[str]) -> Iterator[str]:
    """Reads each text with a kubectl of its own."""
    texts = list(texts)
    with ThreadPoolExecutor(2) as pool:
        for text, (theirs, said) in zip(texts, pool.map(lambda text: _kubectl(plane, text), texts), strict=True):
            if (ours := _ours(text)) != theirs:
                yield f"{text.removeprefix(HEAD)!r}: kubectl {said if theirs is None else theirs}, we {ours}"


def test_words_are_read_alike(alpha: ControlPlane) -> None:
    """Several hundred in one go."""
    assert len(WORDS) > 380
    theirs, said = _kubectl(alpha, "---\n".join(map(_document, WORDS)))
    assert theirs is not None, said
    ours = [(_ours(_document(word)) or ["refused"])[0] for word in WORDS]
    wrong = [f"{word!r}: kubectl {there}, we {here}" for word, there, here in zip(WORDS, theirs, ours, strict=True) if there != here]
    assert wrong == []


def test_what_kubectl_refuses_we_refuse(alpha: ControlPlane) -> None:
    assert len(ODD) > 60
    assert [word for word in ODD if _ours(_document(word)) is not None] == []
    assert list(_disagreements(alpha, map(_document, ODD))) == []


def test_documents_are_read_alike(alpha: ControlPlane) -> None:
    """Markers, directives, line ends, byte order marks, JSON."""
    assert list(_disagreements(alpha, DOCUMENTS)) == []


@pytest.mark.parametrize(
    "named", [{_document(word): why for word, why in DIFFERENT.items()}, DIFFERENT_DOCUMENTS], ids=["words", "documents"]
)
def test_the_list_of_differences_is_current(alpha: ControlPlane, named: dict[str, str]) -> None:
    """What agrees today is taken off the list."""
    assert len(list(_disagreements(alpha, named))) == len(named)
