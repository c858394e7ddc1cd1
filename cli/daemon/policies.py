"""Users' own policies, which the server and the reconciler ask."""

import json
import os

from ..console.exits import UsageError


def read_policies(folder: str) -> tuple[str, ...]:
    """The documents of `serving.policies` as JSON. Raises: UsageError for a folder or a policy that the server can't use."""
    if not folder:
        return ()
    from ..userrules.load import load_user_rules

    if not os.path.isdir(folder):  # noqa: PTH112 - as the files below it are found
        raise UsageError(f"serving.policies: must be a folder that exists, got {folder}")
    rules = load_user_rules([folder], os.path.realpath(folder))
    for one in rules.policies:
        if lacking := sorted(one.reads & {"pods", "documents", "authorizer"}):
            raise UsageError(f"serving.policies: {one.name}: must not read {lacking[0]}, which the server does not know; leave it to check")
    return tuple(json.dumps(one) for one in rules.documents)
