"""How many objects the laws are tried on, and from which seed; the environment may say otherwise, and every run says what it was.

LAWS_OBJECTS is the number of a kind and direction (250; `make nightly` tries ten thousand), LAWS_SEED the seed, fresh by default: the
conftest.py above draws it, and says it at the end of a run. LAWS_LINE is the one line to convert on, such as 1.6; else each has a share.
`make laws` takes the day. CI takes its seed from the content of the tree: each change is tried on objects of its own, and tried again it is
tried on the same ones. From ten thousand on, what else takes a share of something recorded takes all of it.
"""

import os
import secrets
from collections.abc import Sequence
from typing import Final, TypeVar

from dynamo_webhooks.api.line import Line

SEED: Final = int(os.environ.get("LAWS_SEED") or secrets.randbits(32))
LINES: Final = tuple(line for line in Line if os.environ.get("LAWS_LINE") in (None, "", str(line)))
OBJECTS: Final = int(os.environ.get("LAWS_OBJECTS") or 250)
WHOLE: Final = OBJECTS >= 10_000

_Item = TypeVar("_Item")


def share(whole: Sequence[_Item], each: int) -> Sequence[_Item]:
    """One in so many of some items, from LAWS_SEED on; all where the laws try ten thousand objects."""
    return whole if WHOLE else whole[SEED % each :: each]
