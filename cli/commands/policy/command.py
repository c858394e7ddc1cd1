"""The command `policy`: its flags, and what each of its actions prints."""

import os
from typing import Final

from ...console.exits import OK, UsageError
from ...console.output import write_stderr
from ...files.read import load_text
from ...files.write import store
from .options import Options

HELP: Final = "write, test and collect rules of your own, in Kubernetes' policy language"
FOLDER: Final = f"{os.path.dirname(os.path.abspath(__file__))}/examples"  # noqa: PTH100, PTH120 - pathlib takes longer to import


def run(options: Options) -> int:
    """Does one thing. Raises: UsageError for words that mean nothing, and policies that can't be used."""
    if options.action == "new":
        return _new(options)
    from .actions import print_policies, test_policies

    return test_policies(options) if options.action == "test" else print_policies(options)


def _new(options: Options) -> int:
    from ....admission.userrules.policy import PolicyError
    from ....admission.userrules.read import name_of

    if len(options.words) != 1:
        raise UsageError("policy new takes one name, such as few-replicas")
    name, folder = options.words[0], options.directory
    texts = {}
    for suffix in (".yaml", ".cases.yaml"):
        file = f"{folder}/{name}{suffix}"
        if os.path.lexists(file):
            raise UsageError(f"{file}: must be a new file; remove it, or choose another name")
        text = load_text(f"{FOLDER}/{options.example}{suffix}")
        texts[f"{name}{suffix}"] = text.replace(f"name: {options.example}\n", f"name: {name}\n")
    try:
        name_of({"metadata": {"name": name}})
    except PolicyError as error:
        raise UsageError(f"policy new: the name {error.text}") from None
    for file, text in texts.items():
        store(folder, file, text)
        write_stderr(f"{folder}/{file}: written")
    write_stderr(f"run its cases with dynamo-webhooks policy test {folder}/{name}.yaml, and name the folder in rules-from")
    return OK
