"""Reads the policy files of `rules-from`, and what policies read besides the object: parameters, namespaces, documents, rendered pods.

A repository may be a stranger's: files lie in the project's folder, and nothing is fetched.
"""

# ruff: noqa: PTH113, PTH202 - pathlib takes longer to import than a small file takes to check

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ...admission.userrules.evaluate import ParamRef, PolicyEnv, UnknownError, Write, find_namespace, find_params, known_facts, share_budget
from ...admission.userrules.policy import Binding, Policy, PolicyError
from ...admission.userrules.read import is_binding, is_policy, name_of, read_binding, read_policy
from ...admission.userrules.warn import find_warnings
from ...api.kinds import BY_NAME
from ...api.line import Line
from ...api.paths import Path, format_path, lookup
from ...api.wording import shorten
from ...conversion.kinds import KINDS
from ...policies.facts import Facts
from ..console.exits import UsageError
from ..files.find import find_files
from ..files.read import is_within, load_text
from ..objects.forms import FormError, convert
from ..objects.manifest import Fields, unfold_list
from ..yaml.errors import InputError
from ..yaml.load import Document, Source, read_text
from .idle import list_idle
from .marks import find_position

if TYPE_CHECKING:
    from .surroundings import PolicyInputs

MAX_FILE_BYTES: Final = 2**20
MAX_POLICIES: Final = 200  # and files
CASES: Final = (".cases.yaml", ".cases.yml")  # what `policy test` reads
Pods: TypeAlias = Callable[["Fields", Facts, "list[Fields]"], "list[Fields]"]  # of an object beside others; raises UnknownError


class UserRules(NamedTuple):
    """The policies of a project, and the other objects beside them: parameters and namespaces."""

    policies: tuple[Policy, ...] = ()
    objects: tuple[dict[str, Any], ...] = ()
    documents: tuple[dict[str, Any], ...] = ()  # all of these, and the bindings, as written
    sources: tuple[Document, ...] = ()  # those of the policies
    idle: tuple[str, ...] = ()  # sentences about what enforces nothing

    def warnings(self, line: Line) -> list[str]:
        """A sentence with its place for what enforces nothing, and for what doesn't fit the schema of an operator release."""
        unfit = (
            f"{_at(document, warning.path, warning.line, warning.column)}: {format_path(warning.path)}: {warning.text}"
            for policy, document in zip(self.policies, self.sources, strict=True)
            for warning in find_warnings(policy, line)
        )
        return [*self.idle, *unfit]


def load_user_rules(paths: Sequence[str], folder: str, minor: int) -> UserRules:
    """Reads files and folders, all in `folder`. Raises: UsageError with file, line and column of the first thing that can't be used."""
    rules, problems = read_user_rules(paths, folder, minor)
    if problems:
        raise problems[0]
    return rules


def read_user_rules(paths: Sequence[str], folder: str, minor: int = 0) -> tuple[UserRules, list[UsageError]]:
    """Reads files and folders; returns the rules that can be used, and an error for all else.

    Policies with a name and Bindings are among `documents`, even if they can't be used. `minor` is the oldest release of Kubernetes that
    must accept them; 0 is any.
    """
    problems: list[UsageError] = []
    policies: dict[str, Document] = {}
    bound: list[Document] = []
    bindings: list[Binding] = []
    objects: list[dict[str, Any]] = []
    loaded = [*_documents(paths, folder, problems)]
    for document in loaded:
        data = document.data
        try:
            if is_policy(data):
                name = name_of(data)
                if name in policies:
                    text = f"must be the only policy called {name}; the other one is {_at(policies[name], ('metadata', 'name'))}"
                    raise PolicyError(("metadata", "name"), text)  # noqa: TRY301 - one place words all errors
                policies[name] = document
            elif is_binding(data):
                bound.append(document)
                bindings.append(read_binding(data))
            elif isinstance(data, dict):
                objects.append(data)
        except PolicyError as error:
            problems.append(_placed(error, document))
    for document in bound:
        policy = (document.data.get("spec") or {}).get("policyName") if isinstance(document.data.get("spec"), dict) else None
        if isinstance(policy, str) and policy not in policies:
            wrong = PolicyError(("spec", "policyName"), f"must be the name of a policy in rules-from, got {policy}")
            problems.append(_placed(wrong, document))
    if len(policies) > MAX_POLICIES:
        problems.append(UsageError(f"rules-from must hold at most {MAX_POLICIES} policies, got {len(policies)}"))
    used = dict(islice(policies.items(), MAX_POLICIES))
    documents = (*(item.data for item in used.values()), *(item.data for item in bound), *objects)
    read: list[tuple[Policy, Document]] = []
    for document in used.values():
        try:
            read.append((read_policy(document.data, bindings, document.source.name, minor), document))
        except PolicyError as error:
            problems.append(_placed(error, document))
    written = tuple(item for _, item in read)
    return UserRules(tuple(rule for rule, _ in read), tuple(objects), documents, written, tuple(list_idle(loaded))), problems


def _documents(paths: Sequence[str], folder: str, problems: list[UsageError]) -> Iterator[Document]:
    files = [path for path in find_files(paths) if isinstance(path, InputError) or not path.endswith(CASES)]
    if len(files) > MAX_POLICIES:
        problems.append(UsageError(f"rules-from must hold at most {MAX_POLICIES} files, got {len(files)}"))
    for file in files[:MAX_POLICIES]:
        if isinstance(file, InputError):
            problems.append(UsageError(f"rules-from: {file}"))
            continue
        if not is_within(os.path.realpath(file), folder):
            problems.append(UsageError(f"{file}: must lie in the folder of the project file, and is a link out of it"))
            continue
        if os.path.isfile(file) and (size := os.path.getsize(file)) > MAX_FILE_BYTES:
            problems.append(UsageError(f"{file}: must be at most {MAX_FILE_BYTES // 2**20} MiB long, got {size} bytes"))
            continue
        try:
            source = Source(file, load_text(file))
        except InputError as error:
            problems.append(UsageError(f"rules-from: {error}"))
            continue
        for document in read_text(source):
            if isinstance(document, InputError):
                problems.append(UsageError(str(document)))
            else:
                yield from unfold_list(document)


def _placed(error: PolicyError, document: Document) -> UsageError:
    field = shorten(format_path(error.path), 200)
    return UsageError(f"{_at(document, error.path, error.line, error.column)}: {field}: {shorten(error.text, 1_000)}")


def _at(document: Document, path: Path, line: int = 0, column: int = 0) -> str:
    return ":".join((document.source.name, *map(str, find_position(document, path, line, column))))


class UserRuleContext:
    """The users' rules of a run, and where what they read comes from."""

    def __init__(
        self, rules: UserRules, documents: Callable[[], list[Fields]], pods: Callable[[], Pods], live: "PolicyInputs | None" = None
    ) -> None:
        """`documents` reads all objects of the input as written, and raises UnknownError in a part of it; `pods` makes what renders.

        `live` has the parameters and Namespaces that are in no file.
        """
        self.rules, self._documents, self._pods, self._live = rules, cache(documents), cache(pods), live
        self.took_part: set[str] = set()  # names of policies about the kinds of the objects of the run
        self._newest: dict[Line, list[Fields]] = {}
        self._around: tuple[Facts, PolicyEnv] | None = None

    def around(self, facts: Facts) -> PolicyEnv:
        """The known surroundings of an object in a cluster of these facts."""
        if self._around is None or self._around[0] is not facts:
            self._around = facts, self._make_around(facts)
        return self._around[1]

    def _make_around(self, facts: Facts) -> PolicyEnv:
        def documents(_: object) -> list[Fields]:
            if facts.line not in self._newest:
                self._newest[facts.line] = [_newest(obj, facts) for obj in (*self.rules.objects, *self._documents())]
            return self._newest[facts.line]

        def pods(write: Write) -> list[Fields]:
            return [] if write.object is None else self._pods()(write.object, facts, self._objects())

        known = known_facts(facts)
        more = {"documents": documents, "pods": pods, "facts": lambda _: known, "line": lambda _: str(facts.line)}
        return PolicyEnv(self._namespace, self._params, more, frozenset(Facts._fields) - known.keys(), share_budget(self.rules.policies))

    def _namespace(self, name: str) -> Fields:
        """The Namespace of a name: of a file, else of the cluster. Raises: UnknownError."""
        try:
            return find_namespace(self._objects(), name)
        except UnknownError:
            if self._live is None or not name:
                raise
        return self._live.namespace(name)

    def _params(self, wanted: ParamRef) -> list[Fields]:
        """The wanted parameters of the files, and those of the cluster that no file has. Raises: UnknownError."""
        params = find_params(self._objects(), wanted)
        if self._live is None and not params:
            raise UnknownError(f"its parameter, the {wanted}, is neither in rules-from nor in the input")
        if self._live is None or (params and wanted.selector is None):
            return params
        names = {lookup(param, ("metadata", "name")) for param in params}
        return [*params, *(param for param in self._live.params(wanted) if param["metadata"]["name"] not in names)]

    def _objects(self) -> list[Fields]:
        """All known objects, those of rules-from alone where a run sees a part of its input."""
        try:
            return [*self.rules.objects, *self._documents()]
        except UnknownError:
            return [*self.rules.objects]


def _newest(obj: Fields, facts: Facts) -> Fields:
    """A Dynamo object in the newest version of its kind; others, and what can't be converted, as written."""
    kind, version = obj.get("kind"), str(obj.get("apiVersion")).rpartition("/")[2]
    if not isinstance(kind, str) or kind not in KINDS or not BY_NAME[kind].has(version):
        return obj
    try:
        return convert(obj, BY_NAME[kind].versions[-1].name, facts.line)
    except FormError:
        return obj
