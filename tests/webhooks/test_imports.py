"""What the offline `review` command may not pay for: the pure answers need no server, no TLS and no metrics library."""

import subprocess
import sys
from pathlib import Path


def test_pure_answers_import_no_server() -> None:
    code = "import sys, dynamo_webhooks.webhooks.admission; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert not {"aiohttp", "asyncio", "uvloop", "ssl", "cryptography", "prometheus_client", "pydantic"} & set(done.stdout.split())
