"""The law for field managers on generated sequences: LAWS_OBJECTS of them, 1,000 by default; `make laws` tries ten
thousand."""

import copy
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pytest

from dynamo_webhooks.api.kinds import BETA
from dynamo_webhooks.api.line import INSTALLED, NEWEST, Line
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import kind_of
from tests.laws.conftest import OBJECTS, SEED
from tests.laws.dice import Dice, Draw, Replay, smallest
from tests.laws.managers.law import breaches
from tests.laws.managers.sequences import Object, Sequence, Step, draw_any
from tests.laws.managers.server import Server
from tests.laws.managers.subjects import ADAPTER, COMPONENT, GRAPH, REQUEST

TRIED = (GRAPH, COMPONENT, REQUEST, ADAPTER)
CORES = os.cpu_count() or 1
SHARES = 4  # of the sequences of a kind


def converted(obj: Object, version: str, line: Line = INSTALLED) -> Object:
    """The object in a version, as a server of a line answers on /convert."""
    return convert(kind_of(obj["kind"], line), obj, version).object


def modelled(kind: str, line: Line = INSTALLED) -> Server:
    """The model of an API server with the definitions of a line."""
    return Server(kind, partial(converted, line=line), line)


def draw_on(draw: Draw, kind: str, line: Line) -> Sequence:
    """A sequence whose manifests a line admits."""
    drawn = draw_any(draw, kind)
    if line < Line.V1_3:
        return drawn
    return drawn._replace(steps=tuple(step._replace(body=_with_switch(step)) for step in drawn.steps))


def _with_switch(step: Step) -> Object:
    """From 1.3 on a checkpoint in v1beta1 must say whether it is enabled, and a graph may not be created with a restart."""
    body = copy.deepcopy(step.body)
    spec: Object = body.get("spec") or {}
    spec.pop("restart", None)
    for holder in [spec, *spec.get("components", ())] if step.version == BETA else []:
        checkpoint = (holder.get("experimental") or {}).get("checkpoint")
        if checkpoint is not None:
            checkpoint["enabled"] = True
    return body


def search(kind: str, line: Line, seed: int, numbers: range) -> str:
    """The first of some sequences that breaks the law, made small; nothing when none does."""
    made = partial(modelled, line=line)
    for number in numbers:
        dice = Dice(seed, "managers", kind, number)
        if breaches(draw_on(dice, kind, line), made):
            thrown = smallest(dice.thrown, lambda throws: bool(breaches(draw_on(Replay(throws), kind, line), made)))
            sequence = draw_on(Replay(thrown), kind, line)
            return f"LAWS_SEED={seed}, line {line}, {kind} number {number}: {breaches(sequence, made)}\n{sequence}"
    return ""


@pytest.mark.parametrize("kind", TRIED)
@pytest.mark.parametrize("line", [INSTALLED, NEWEST])
def test_nobody_loses_anything(kind: str, line: Line) -> None:
    """Every sequence of writes of a kind keeps the law."""
    with ProcessPoolExecutor(CORES, multiprocessing.get_context("spawn")) as workers:
        every = range(OBJECTS // len(TRIED))
        running = [workers.submit(search, kind, line, SEED, every[share::SHARES]) for share in range(SHARES)]
        found = [future.result() for future in running]
    assert not any(found), "\n\n".join(filter(None, found))
