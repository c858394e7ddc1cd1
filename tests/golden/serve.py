"""`python -m tests.golden.serve` is `dynamo-webhooks serve`, with the verdicts and defaults of the Go operator 1.2."""

import sys

from dynamo_webhooks.cli.main import main
from tests.golden.overlay.engine import profile_1_2

if __name__ == "__main__":
    with profile_1_2():  # long requests are answered by forks of this process
        sys.exit(main(["serve", *sys.argv[1:]]))
