"""Every measured oddity of conversion is decided once."""

from pathlib import Path

from dynamo_webhooks.conversion.quirks import HEALED, KEPT, NUMBERS, SPELLED
from tests.golden.test_conversion import _listed


def test_every_quirk_is_healed_or_kept() -> None:
    assert set(HEALED) | set(KEPT) == set(NUMBERS)
    assert not set(HEALED) & set(KEPT)


def _numbers(name: str) -> list[str]:
    lines = (Path(__file__).parents[1] / "golden" / name).read_text().splitlines()
    return [line.split()[1] for line in lines if line and not line.startswith("#")]


def test_listed_differences_name_what_is_healed_or_spelled_otherwise() -> None:
    unlike, spelled = _numbers("conversion-skips.txt"), _numbers("conversion-spelling.txt")
    assert unlike
    later = _numbers("line15-conversion.txt")
    assert {number for number in (*unlike, *later) if number.startswith("C")} <= set(HEALED)
    assert set(spelled) | {number for number in later if number.startswith("S")} == set(SPELLED)
    assert len(_listed()) == len(unlike) + len(spelled)
