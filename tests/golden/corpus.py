"""Finds the recorded answers of the Go operator: those of recorded/, or of the folder that DYNAMO_CORPUS names."""

import copy
import gzip
import importlib.util
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import yaml

from dynamo_webhooks.policies.facts import Facts, facts_from
from tests.laws.conftest import WHOLE

FOLDER = Path(os.environ.get("DYNAMO_CORPUS") or Path(__file__).with_name("recorded"))


def corpus_file(name: str) -> Path:
    """The path of one file of the record; without it the test fails."""
    file = FOLDER / name
    assert file.is_file(), f"{file} is missing: the recorded answers are part of the repository, unless DYNAMO_CORPUS names another folder"
    return file


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"corpus_{name}", corpus_file(f"{name}.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def compare() -> ModuleType:
    """The comparison that came with the record: its `normalise` and `diff` say which zero values don't matter."""
    return _module("compare")


@cache
def compare_render() -> ModuleType:
    """The comparison that came with the record: its `tidy` says what of children doesn't matter."""
    return _module("compare_render")


def lines(name: str) -> Iterator[dict[str, Any]]:
    """All cases of a file, in its order."""
    yield from map(orjson.loads, gzip.decompress(corpus_file(name).read_bytes()).splitlines())


def cases(name: str, kind: str) -> Iterator[dict[str, Any]]:
    """The cases of one kind, in file order."""
    return (case for case in lines(name) if case["kind"] == kind)


def admissions() -> Iterator[dict[str, Any]]:
    """The recorded admissions, without those that are answered as in a context before; all of them where the laws try ten thousand."""
    answered: dict[str, list[Any]] = {}
    for case in cases("golden.ndjson.gz", "admit"):
        before = answered.setdefault(case["id"], [])
        if WHOLE or case["expect"] not in before:
            before.append(case["expect"])
            yield case


@cache
def facts_of(context: str) -> Facts:
    """What the recorded server had in a context."""
    return facts_from(yaml.safe_load(corpus_file(f"context-{context}.yaml").read_text()))


def without_conversion(obj: dict[str, Any]) -> dict[str, Any]:
    """Takes out what the recorded server's conversion webhook left in objects of a version that isn't the stored one.

    It wrote each of them to the storage version and back, so they came with zero values, an empty or initial status, preservation
    annotations, and without false where the types leave it out. Conversion has golden cases of its own.
    """
    obj = copy.deepcopy(obj)
    obj.pop("status", None)
    annotations = obj["metadata"].get("annotations", {})
    for name in compare().RESERVED & annotations.keys():
        del annotations[name]
    if obj.get("spec", {}).get("autoApply") is False:
        del obj["spec"]["autoApply"]
    normal: dict[str, Any] = compare().normalise(obj)
    return normal
