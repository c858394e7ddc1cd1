"""Every measured oddity of conversion is decided once."""

from __future__ import annotations

from conversion.quirks import HEALED, KEPT, NUMBERS
from tests.golden.test_conversion import _listed


def test_every_quirk_is_healed_or_kept() -> None:
    assert set(HEALED) | set(KEPT) == set(NUMBERS)
    assert not set(HEALED) & set(KEPT)


def test_listed_differences_name_quirks_that_are_healed() -> None:
    from pathlib import Path

    lines = (Path(__file__).parents[1] / "golden" / "conversion-skips.txt").read_text().splitlines()
    named = {line.split()[1] for line in lines if line and not line.startswith("#")}
    assert named
    assert named <= set(HEALED)
    assert len(_listed()) == len([line for line in lines if line and not line.startswith("#")])
