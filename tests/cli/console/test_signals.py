"""A process that is asked to end ends by itself, however often it is asked."""

import subprocess
import sys
from textwrap import dedent

import pytest

SCRIPT = """
    import asyncio, os, signal, sys
    from dynamo_webhooks.cli.console.signals import on_first_signal

    async def work():
        asked = asyncio.Event()
        on_first_signal(asked.set)
        os.kill(os.getpid(), signal.{name})
        await asyncio.wait_for(asked.wait(), 60)
        os.kill(os.getpid(), signal.SIGTERM)

    asyncio.run(work())
    os.kill(os.getpid(), signal.SIGTERM)
    sys.exit(130)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_after_the_first_leaves_the_exit_code(name: str) -> None:
    """Even behind the end of the loop, where asyncio would have put back a handler that kills."""
    ended = subprocess.run([sys.executable, "-c", dedent(SCRIPT.format(name=name))], check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (130, "")
