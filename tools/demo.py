"""A demonstration (`make serve`): starts the server with its own certificates, sends a broken graph, prints the response, keeps serving."""

import json
import os
import signal
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Final

from dynamo_webhooks.webhooks import child_process
from tools.written import ROOT

CERTIFICATES: Final = Path(".serve")
PATH: Final = "/validate-nvidia-com-v1beta1-dynamographdeployment"
COMMAND: Final = child_process.command(
    "dynamo_webhooks.cli.main", "serve", "--self-signed", "--cert-dir", str(CERTIFICATES), "--no-cluster"
)
REVIEW: Final = ROOT / "docs" / "examples" / "review.json"


def ask(url: str, authority: Path) -> str:
    """Posts the review, as an API server would, and returns the answer, indented."""
    request = urllib.request.Request(url + PATH, data=REVIEW.read_bytes(), headers={"Content-Type": "application/json"})  # noqa: S310 - our own https URL
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=str(authority)), timeout=10) as answer:  # noqa: S310
        return json.dumps(json.load(answer), indent=2)


def main(arguments: list[str]) -> int:
    """Runs the demonstration; `--once` stops after the answer, on ports that are free. Returns the server's exit code."""
    once = "--once" in arguments
    ports = [f"127.0.0.1:{0 if once else port}" for port in (9443, 8081, 8080)]
    listen = ["--listen", ports[0], "--probe-listen", ports[1], "--metrics-listen", ports[2]]
    server = subprocess.Popen([*COMMAND, *listen], stderr=subprocess.PIPE, text=True, env=child_process.environment())  # noqa: S603 - our own command
    assert server.stderr  # noqa: S101 - asked for above
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a killed `make` leaves no server behind
    try:
        for line in server.stderr:
            print(line, end="", file=sys.stderr, flush=True)
            if line.startswith("ready "):
                print(ask(line.split()[1], CERTIFICATES / "ca.crt"), flush=True)
                if once:
                    server.terminate()
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:  # the reader has gone, such as head; the interpreter writes once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        server.terminate()
    return server.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
