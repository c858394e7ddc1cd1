"""Facts about the cluster, watched by a separate process and sent to the serving ones; requests never wait for them."""

from typing import Final

# what a serving process writes to the watching one, after the orders
STOP: Final = b"stop\n"
ACCESS: Final = b"access "  # and then a question about a token
