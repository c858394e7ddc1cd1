"""Versions are read as loosely as the operator reads them, and no more loosely."""

from dynamo_webhooks.policies.semver import is_semver

GOOD = [
    "1",
    "v1",
    "1.2",
    "1.2.3",
    "01.02.03",
    "v1.2.0-rc.1",
    "1.2-rc",
    "1-0",
    "1.2.3-0.a.-",
    "1.2.3-01a",
    "1.2.3+build.01",
    "1.2.3-rc.1+build",
    "1+b",
    "18446744073709551615.0.0",
    "0" * 5_000 + "1",
]
BAD = [
    "",
    "v",
    "V1.2.3",
    "1.2.3.4",
    "1.2.3 ",
    " 1.2.3",
    "1.2.3\n",
    "1..2",
    "1.2.",
    "1.2.3-",
    "1.2.3-a..b",
    "1.2.3-01",
    "1.2.3-rc.00",
    "1.2.3+",
    "1.2.3+a+b",
    "1.2.3-a_b",
    "18446744073709551616",
    "1.18446744073709551616",
    "9" * 100_000,
    "\u0661.2.3",
    "latest",
]


def test_a_version_is_recognised_and_nothing_else() -> None:
    assert [text for text in (*GOOD, *BAD) if is_semver(text)] == GOOD
