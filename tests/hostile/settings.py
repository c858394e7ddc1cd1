"""How many hostile reviews a run tries and from which seed; the environment may say otherwise, and every run says what it was.

HOSTILE_REVIEWS is the number of reviews (4,000; `make nightly` tries 200,000), HOSTILE_SERVED how many go through a server over TLS, too
(500, or every twentieth; `make nightly` sends as many again). HOSTILE_SEED is the seed; where it isn't set that of the laws of conversion
(LAWS_SEED), which CI takes from the content of the tree, and else a fresh one. HOSTILE_EXPRESSIONS is
the number of expensive expressions (600; `make nightly` tries 20,000).
"""

import os
import secrets
from typing import Final

SEED: Final = int(os.environ.get("HOSTILE_SEED") or os.environ.get("LAWS_SEED") or secrets.randbits(32))
REVIEWS: Final = int(os.environ.get("HOSTILE_REVIEWS") or 4_000)
SERVED: Final = int(os.environ.get("HOSTILE_SERVED") or max(REVIEWS // 20, 500))
# of searches that hold time against work: by day the same, so that a change fails for what it changes; `make hostile` draws one
SEARCH_SEED: Final = int(os.environ.get("HOSTILE_SEED") or 1)
EXPRESSIONS: Final = int(os.environ.get("HOSTILE_EXPRESSIONS") or 600)
GUIDED: Final = max(REVIEWS // 20, 1_000)  # inputs for each decoder
