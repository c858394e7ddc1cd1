"""Looks for sequences that break the law: `python -m tests.laws.managers.search KIND COUNT [SEED]` prints the first, made small.

No test asks this yet: conversion doesn't keep the law.
"""

from __future__ import annotations

import sys

from conversion.engine import convert
from conversion.kinds import KINDS
from tests.laws.dice import Dice, Replay, smallest
from tests.laws.managers.law import breaches
from tests.laws.managers.sequences import Object, draw_sequence
from tests.laws.managers.server import Server


def converted(obj: Object, version: str) -> Object:
    """The object in a version, as a server answers on /convert."""
    return convert(KINDS[obj["kind"]], obj, version).object


def modelled(kind: str) -> Server:
    """The model of an API server."""
    return Server(kind, converted)


def search(kind: str, seed: int, numbers: range) -> str:
    """The first of some sequences that breaks the law, made small; nothing when none does."""
    for number in numbers:
        dice = Dice(seed, "managers", kind, number)
        if breaches(draw_sequence(dice, kind), modelled):
            thrown = smallest(dice.thrown, lambda throws: bool(breaches(draw_sequence(Replay(throws), kind), modelled)))
            sequence = draw_sequence(Replay(thrown), kind)
            return f"seed {seed}, {kind} number {number}: {breaches(sequence, modelled)}\n{sequence}"
    return ""


if __name__ == "__main__":
    print(search(sys.argv[1], int((sys.argv[3:] or ["1"])[0]), range(int(sys.argv[2]))) or "none")
