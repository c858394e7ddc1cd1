"""Reads the worked examples and walks through them; what an example is, `worked/*.yaml` says. Nothing is asserted here."""

import copy
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import yaml

from dynamo_webhooks.conversion.lens.protocol import ConversionError
from tests.golden.corpus import compare
from tests.laws.laws import RESERVED, away, different, live, said

Object = dict[str, Any]
FOLDER: Final = Path(__file__).with_name("worked")
INPUT: Final = "as the input"
EDITED: Final = "as edited"
ERROR: Final = "an error"
_LOCAL: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+[+-]\d\d:\d\d")


def load_examples() -> list[Object]:
    """All worked examples, file by file."""
    return [example for file in sorted(FOLDER.glob("*.yaml")) for example in yaml.load(file.read_text(), yaml.CSafeLoader)]


def walk(example: Object) -> Iterator[str]:
    """Goes through the steps of an example and says where ours differ from what is written there."""
    current = start(example)
    before = {current["apiVersion"]: current}
    for number, step in enumerate(example["steps"], 1):
        if "edit" in step:
            current = edited(current, step["edit"])
            before[current["apiVersion"]] = current
            continue
        wanted = step.get("better", step["gives"])
        try:
            got = away(current, step["convert"])
        except ConversionError as error:
            if wanted != ERROR:
                yield f"step {number}: {error}"
            return
        if wanted == ERROR:
            yield f"step {number}: no error"
            return
        yield from (f"step {number}: {difference}" for difference in _compared(got, wanted, step, before))
        current = got


def _compared(got: Object, wanted: Any, step: Object, before: dict[str, Object]) -> Iterator[str]:
    known = before.get(got["apiVersion"])
    if wanted == INPUT:
        difference = different(got, known)
        yield from [difference] if difference else []
        return
    if wanted == EDITED:
        difference = different(live(got), live(known or {}))
        yield from [difference] if difference else []
        return
    theirs = compare()
    yield from theirs.diff(_mute(_meant(said(got)), wanted), _meant(said(wanted)))
    notes = (each.get("annotations", {}) for each in (wanted, got["metadata"]))
    texts, ours = (theirs.normalise({"annotations": each}).get("annotations", {}) for each in notes)
    for key, text in texts.items():
        if not theirs.covers(ours.get(key), text):
            yield f"{key}: {ours.get(key)}, should hold {text}"
    if extra := sorted(ours.keys() - texts.keys() - RESERVED):
        yield f"annotations that nobody asked for: {extra}"


def _meant(value: Object) -> Object:
    """A value without what typed encoders write or leave out at will, its instants in UTC."""
    text = _LOCAL.sub(lambda instant: datetime.fromisoformat(instant[0]).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), json.dumps(value))
    meant: Object = compare().normalise(json.loads(text))
    return meant


def _mute(got: Object, wanted: Object) -> Object:
    """A status that says nothing is not written down in the examples."""
    status = got.get("status") or {}
    if "status" not in wanted and (not status or status in ({"state": "Pending"}, {"phase": "Pending"})):
        return {part: value for part, value in got.items() if part != "status"}
    return got


def start(example: Object) -> Object:
    """The object that an example begins with."""
    state = example["start"]
    metadata: Object = {"name": state.get("name", "x"), "namespace": "default"}
    if "annotations" in state:
        metadata["annotations"] = state["annotations"]
    return {"apiVersion": f"nvidia.com/{state['version']}", "kind": example["kind"], "metadata": metadata, **copy.deepcopy(said(state))}


def edited(obj: Object, edits: list[Any]) -> Object:
    """An object with edits made: `[set, path, value]` and `[delete, path]`; members on the way to a place are made where there are none."""
    out = copy.deepcopy(obj)
    for edit in edits:
        action, path = edit[0], edit[1]
        node: Any = out
        for step in path[:-1]:
            node = node.setdefault(step, {}) if type(node) is dict else node[step]
        if action == "delete":
            del node[path[-1]]
        elif type(node) is list and path[-1] == len(node):
            node.append(edit[2])
        else:
            node[path[-1]] = edit[2]
    return out
