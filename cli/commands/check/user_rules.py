"""What users' rules of a run read besides the object at hand: the other documents of its input, and rendered pods."""

from collections.abc import Sequence

from ....admission.userrules.evaluate import UnknownError
from ....policies.review import Fields
from ...files.documents import read_documents
from ...files.read import STDIN
from ...objects.manifest import unfold_list
from ...userrules.load import Asked, Pods, UserRules
from ...yaml.errors import InputError
from ...yaml.load import Source
from ...yaml.substitute import Fill


def ask_rules(rules: UserRules | None, files: Sequence[str | Source | InputError] | None, fill: Fill | None = None) -> Asked | None:
    """The rules of a run over some files, which are read once more when a rule asks for all documents; None without rules.

    Without `files` the other documents are not known.
    """
    if rules is None or not rules.policies:
        return None

    def documents() -> list[Fields]:
        if files is None or STDIN in files:
            raise UnknownError("only a run over files knows the other documents")
        found = [document for file in files for document in read_documents(file, "", lenient=True, fill=fill)]
        readable = (one for document in found if not isinstance(document, InputError) for one in unfold_list(document))
        return [one.data for one in readable]

    def pods() -> Pods:
        from ..render.pods import read_pods  # takes longer to import than a small file to check

        return read_pods()

    return Asked(rules, documents, pods)
