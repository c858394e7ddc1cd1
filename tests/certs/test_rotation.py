"""The rotation as a whole, in a world in memory: nobody's request fails, whatever happens between which steps."""

from __future__ import annotations

from tests.certs.world import World


def test_first_install_and_rotation() -> None:
    """A fresh world becomes stable by itself, and a wished rotation goes through all its phases."""
    world = World()
    world.settle_down()
    before = world.servers[0].leaf
    world.annotate(**{"webhooks.nvidia.com/rotate-requested": "1"})
    world.settle_down()
    after = world.servers[0].leaf
    assert before is not None
    assert after is not None
    assert before.parsed.issuer != after.parsed.issuer
