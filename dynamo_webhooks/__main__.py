"""`python -m dynamo_webhooks`: the command line."""

import sys

from dynamo_webhooks.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
