"""Runs the actions `test` (the cases beside policies) and `from-cluster` (prints a cluster's policies about Dynamo's kinds)."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ....admission.userrules.policy import PolicyError
from ....admission.userrules.read import read_policy
from ....api.kinds import GROUP
from ....api.line import NEWEST
from ....api.paths import format_path
from ....api.wording import count_of
from ....kube.errors import ApiError
from ....kube.protocol import Cluster, Node
from ....kube.resources import CONFIG_MAPS, POLICIES, POLICY_BINDINGS
from ....policies.facts import FactsError, facts_from
from ....policies.review import CREATE, UPDATE
from ...console.exits import NOTHING_FOUND, OK, REFUSED, UNREACHABLE, UsageError
from ...console.kubernetes import OLDEST_MINOR
from ...console.output import write_stderr, write_stdout
from ...files.find import find_files
from ...files.read import load_text
from ...installation.connection import connect_cluster
from ...objects.manifest import Manifest, find_manifests
from ...objects.stored import store_as
from ...project.apply import RULES_FROM, apply_project, find_oldest_minor, load_own_rules
from ...rewrite.emit import emit_yaml
from ...userrules.load import CASES, UserRuleContext, UserRules, load_user_rules
from ...validation.finding import ValidationOutcome
from ...validation.levels import DECODE
from ...validation.pipeline import ValidationSettings, check_object
from ...yaml.errors import InputError
from ...yaml.load import Document, load_documents
from ..render.pods import read_pods
from .options import Options

ALLOW: Final = "allow"
DENY: Final = "deny"
_KEYS: Final = ("name", "object", "oldObject", "documents", "facts", "as", "as-groups", "message")


def test_policies(options: Options) -> int:
    """Runs the cases and prints those that fail, with -v all; returns the exit code. Raises: UsageError."""
    paths, minor = options.words, options.kubernetes
    project = apply_project(options, (RULES_FROM,), ()).project
    if not paths:
        if load_own_rules(project, minor) is None:
            raise UsageError("name files with policies or cases, or their folder, or give rules-from in .dynamo-webhooks.yaml")
        paths = project.value(RULES_FROM)
    minor = minor or find_oldest_minor(project)
    tried = [result for file in _case_files(paths) for result in try_cases(file, minor)]
    for name, failure in tried:
        if failure or options.verbose:
            write_stdout(f"{'FAIL' if failure else 'ok  '} {name}{f': {failure}' if failure else ''}\n")
    failed = sum(bool(failure) for _, failure in tried)
    counted = f"{count_of(len(tried), 'case')}: {len(tried) - failed} passed, {failed} failed"
    write_stderr(counted if tried else "no cases found; they are in NAME.cases.yaml")
    return REFUSED if failed else OK if tried else NOTHING_FOUND


def _case_files(paths: Sequence[str]) -> Iterator[str]:
    """The case files that paths mean: themselves, or beside a policy."""
    for file in find_files(paths):
        if isinstance(file, InputError):
            raise UsageError(str(file))
        beside = f"{os.path.splitext(file)[0]}{CASES[0]}"  # noqa: PTH122 - as elsewhere here
        if file.endswith(CASES):
            yield file
        elif beside not in paths and file in paths:
            if not os.path.isfile(beside):  # noqa: PTH113 - as above
                raise UsageError(f"{file}: has no cases; write them to {beside}")
            yield beside


def try_cases(file: str, minor: int = OLDEST_MINOR) -> Iterator[tuple[str, str]]:
    """Runs the cases of one file by the policies of the file beside it; name and failure, empty for none, of each. Raises: UsageError."""
    beside = next((f"{file.removesuffix(suffix)}.yaml" for suffix in CASES if file.endswith(suffix)), file)
    rules = load_user_rules([beside], os.path.dirname(os.path.realpath(beside)), minor)  # noqa: PTH120 - as above
    for warning in rules.warnings(NEWEST):
        write_stderr(f"warning: {warning}")
    try:
        documents = load_documents(load_text(file), file)
    except InputError as error:
        raise UsageError(str(error)) from None
    for document in documents:
        data = document.data
        if not isinstance(data, dict) or not set(data) <= {ALLOW, DENY}:
            raise UsageError(f"{file}: must be a mapping with allow and deny, each a list of cases")
        for sort in (ALLOW, DENY):
            for index in range(len(data.get(sort) or ())):
                yield _tried(document, rules, sort, index)


def _tried(document: Document, rules: UserRules, sort: str, index: int) -> tuple[str, str]:
    case, where = document.data[sort][index], f"{document.source.name}: {sort}[{index}]"
    if not isinstance(case, dict) or "object" not in case or not set(case) <= set(_KEYS):
        raise UsageError(f"{where}: must be a mapping with object, and may have {', '.join(key for key in _KEYS if key != 'object')}")
    manifest = _object(document, (sort, index, "object"), where)
    old = None
    try:
        facts = facts_from(case.get("facts"))
        if case.get("oldObject") is not None:
            old = store_as(_object(document, (sort, index, "oldObject"), where), manifest.version, facts.line)
    except FactsError as error:
        raise UsageError(f"{where}.facts: {error}") from None
    if isinstance(old, InputError):
        raise UsageError(f"{where}: {old}")
    beside = [obj for obj in case.get("documents") or () if isinstance(obj, dict)]
    run_rules = UserRuleContext(rules, lambda: [*beside, case["object"]], read_pods)
    settings = ValidationSettings(
        facts, str(case.get("as") or ""), user_rules=run_rules, groups=tuple(map(str, case.get("as-groups") or ()))
    )
    outcome = check_object(manifest, CREATE if old is None else UPDATE, old, settings)
    return f"{where} {case.get('name') or ''}".rstrip(), _failure(sort, outcome, str(case.get("message") or ""))


def _object(document: Document, path: tuple[Any, ...], where: str) -> Manifest:
    manifests = [*find_manifests([document.item(path)])]
    if len(manifests) != 1:
        raise UsageError(f"{where}: {path[-1]} must be one Dynamo object (group nvidia.com)")
    return manifests[0]


def _failure(sort: str, outcome: ValidationOutcome, message: str) -> str:
    unfit = [finding for finding in outcome.findings if finding.stage == DECODE]
    if unfit:
        return f"the object can't be evaluated: {unfit[0].about}"
    denials = [finding for finding in outcome.findings if finding.rule.startswith("user/")]
    notes = [note for note in outcome.not_evaluated if note.rule.startswith("user/")]
    if notes:
        return f"is not evaluated: {notes[0].reason}"
    if sort == ALLOW:
        return f"is denied: {denials[0].about}" if denials else ""
    if not denials:
        return "is allowed"
    if message and not any(message in finding.message for finding in denials):
        return f"is denied with another message: {denials[0].message}"
    return ""


def print_policies(options: Options) -> int:
    """Reads the cluster and changes nothing there; 3 without such a policy, 6 when it can't be reached."""

    async def ask() -> list[dict[str, Any]]:
        async with connect_cluster("dynamo-webhooks-policy", options.kubeconfig, options.context) as cluster:
            return await list_cluster_policies(cluster)

    try:
        objects = asyncio.run(ask())
    except ApiError as error:
        write_stderr(f"the cluster can't be asked: {error.message}")
        return UNREACHABLE
    write_stdout("".join(f"---\n{emit_yaml(obj)}" for obj in objects))
    if not objects:
        write_stderr("no ValidatingAdmissionPolicy of the cluster is about Dynamo's kinds")
    return OK if objects else NOTHING_FOUND


async def list_cluster_policies(cluster: Cluster) -> list[dict[str, Any]]:
    """The policies, their bindings, and their parameters where these are ConfigMaps. Raises: ApiError."""
    policies = {policy["metadata"]["name"]: policy for policy in (await cluster.list(POLICIES)).items if _is_about_ours(policy)}
    bindings = [item for item in (await cluster.list(POLICY_BINDINGS)).items if item["spec"].get("policyName") in policies]
    bound = {item["spec"]["policyName"] for item in bindings}
    for name in sorted(policies.keys() - bound):
        write_stderr(f"{name}: is left out, since no Binding puts it into force")
    objects = [*(policy for name, policy in policies.items() if name in bound), *bindings]
    for binding in bindings:
        param, ref = policies[binding["spec"]["policyName"]]["spec"].get("paramKind"), binding["spec"].get("paramRef") or {}
        if param == {"apiVersion": "v1", "kind": "ConfigMap"} and ref.get("name") and ref.get("namespace"):
            read = await cluster.get(CONFIG_MAPS, ref["name"], ref["namespace"])
            objects += [read] if read is not None else []
        elif ref:
            write_stderr(f"{binding['metadata']['name']}: add the parameter that it names to rules-from yourself")
    return [_plain(obj) for obj in objects]


def _is_about_ours(policy: Node) -> bool:
    """Whether a policy may be about one of Dynamo's kinds; one that can't be read here is reported, and left out."""
    try:
        return bool(read_policy(policy, (), "").rule.where)
    except PolicyError as error:
        rules = (policy["spec"].get("matchConstraints") or {}).get("resourceRules") or ()
        if any({"*", GROUP} & {*rule.get("apiGroups", ())} for rule in rules):
            write_stderr(f"{policy['metadata']['name']}: is left out, since it can't be read here: {format_path(error.path)}: {error.text}")
        return False


def _plain(obj: Node) -> dict[str, Any]:
    """The object as a user would write it."""
    metadata = {key: value for key, value in obj["metadata"].items() if key in ("name", "labels", "annotations", "namespace")}
    plain = {**obj, "metadata": metadata}
    return {key: plain[key] for key in ("apiVersion", "kind", "metadata", "spec", "data") if key in plain}
