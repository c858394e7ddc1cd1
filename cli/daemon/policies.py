"""Users' own policies, which the server and the reconciler ask. As a program it prints those of a folder as JSON."""

import json
import os
import sys

from ...admission.userrules.evaluate import find_trouble
from ...webhooks.child_process import command
from ...webhooks.policies import PolicySet, digest_documents
from ...webhooks.reload import Source, watch
from ..console.exits import UsageError
from ..userrules.load import UserRules, read_user_rules


def read_policies(folder: str) -> PolicySet:
    """The documents of `serving.policies` as JSON, and a sentence for each thing in it that can't be used."""
    rules, problems = load_policies(folder)
    documents = tuple(json.dumps(document) for document in rules.documents)
    usable = sum(not find_trouble(policy) for policy in rules.policies)
    return PolicySet(documents, usable, tuple(problems), digest_documents(documents))


def load_policies(folder: str) -> tuple[UserRules, list[str]]:
    """The policies of a folder, and a sentence for each thing in it that the server can't use."""
    if not folder:
        return UserRules(), []
    if not os.path.isdir(folder):  # noqa: PTH112 - as the files below it are found
        return UserRules(), [f"serving.policies: must be a folder that exists, got {folder}"]
    try:
        if all(name.startswith(".") for name in os.listdir(folder)):  # noqa: PTH208 - as above; an optional ConfigMap that isn't there
            return UserRules(), []
        rules, errors = read_user_rules([folder], os.path.realpath(folder))
    except (OSError, UsageError) as error:
        return UserRules(), [f"serving.policies: {error}"]
    lacking = (f"{policy.name}: {trouble}" for policy in rules.policies if (trouble := find_trouble(policy)))
    return rules, [*map(str, errors), *lacking]


def make_policy_source(folder: str) -> Source:
    """The folder of `serving.policies`, to be read again after each change. Call it before the folder is read."""
    return watch(folder, command("dynamo_webhooks.cli.daemon.policies", folder))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(read_policies(sys.argv[1])._asdict()))
