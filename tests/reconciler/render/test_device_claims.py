"""GPUs by claims of devices on several nodes: counted from templates and classes, or the part is not rendered."""

from typing import Any

from dynamo_webhooks.reconciler.render.multinode.gpus import find_needed_classes
from dynamo_webhooks.reconciler.render.settings import ClaimDependencies
from tests.reconciler.rendering import graph, rendered, vllm
from tests.rows import run_each

Fields = dict[str, Any]
WIDE = ("--tensor-parallel-size", "16")
SELECTS = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].productName == 'H100'"


def _template(*requests: Fields) -> Fields:
    return {"kind": "ResourceClaimTemplate", "metadata": {"name": "eight"}, "spec": {"spec": {"devices": {"requests": [*requests]}}}}


def _exactly(name: str = "gpus", device: str = "gpu.nvidia.com", **more: Any) -> Fields:
    return {"name": name, "exactly": {"deviceClassName": device, **more}}


def _class(*expressions: str, **spec: Any) -> Fields:
    return {"kind": "DeviceClass", "spec": {"selectors": [{"cel": {"expression": expression}} for expression in expressions], **spec}}


def _claiming(*, claims: list[Fields] | None = None, limits: Fields | None = None, args: tuple[str, ...] = WIDE, **more: Any) -> Fields:
    resources = {"claims": [{"name": "gpus"}] if claims is None else claims, **({"limits": limits} if limits else {})}
    entry = {"name": "gpus", "resourceClaimTemplateName": "eight", **more}
    pod = {"resourceClaims": [{name: value for name, value in entry.items() if value}]}
    made = vllm("w", args=args, multinode={"nodeCount": 2}, main={"resources": resources})
    made["podTemplate"]["spec"] |= pod
    return made


def _args(component: Fields, known: ClaimDependencies, *, grove: bool = False) -> str:
    done = rendered(graph(component), lws=True, grove=grove, claims=known)
    assert [str(problem) for problem in done.problems] == []
    if grove:
        (made,) = [child for child in done.children if child["kind"] == "PodCliqueSet"]
        main = made["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0]
    else:
        (made,) = [child for child in done.children if child["kind"] == "LeaderWorkerSet"]
        main = made["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"][0]
    return " ".join([*main.get("command", ()), *main["args"]])


def _problem(component: Fields, known: ClaimDependencies) -> str:
    done = rendered(graph(component), lws=True, claims=known)
    assert not any(child["kind"] == "LeaderWorkerSet" for child in done.children)
    (problem,) = done.problems
    return str(problem)


@run_each("grove", [False, True])
def test_an_engine_over_two_nodes_of_eight_claimed_gpus_is_told_of_both(*, grove: bool) -> None:
    known = ClaimDependencies({"eight": _template(_exactly(count=8))})
    assert "--nnodes 2 " in _args(_claiming(), known, grove=grove)
    assert "--nnodes" not in _args(_claiming(args=("--tensor-parallel-size", "8")), known, grove=grove)
    assert "--data-parallel-size 16 " in _args(_claiming(args=("--data-parallel-size", "16")), known, grove=grove)


@run_each(
    ("requests", "engines"),
    [
        ([_exactly(count=4), _exactly("more", count=4)], 8),
        ([_exactly(), _exactly("nics", "compute-domain-default-channel.nvidia.com", count=9)], 1),
        ([{"name": "flat", "deviceClassName": "gpu.nvidia.com", "count": 2}], 2),
        ([_exactly(device="mig.nvidia.com", count=3)], 3),
        ([_exactly(device="h100", count=6), _exactly("net", "nics", count=8)], 6),
        ([_exactly(device="extended", count=5)], 5),
        ([_exactly(count=2), _exactly("watcher", count=8, adminAccess=True)], 2),
        ([{"name": "any", "firstAvailable": [_exactly(count=4)["exactly"], _exactly(device="h100", count=4)["exactly"]]}], 4),
    ],
)
def test_requests_for_gpus_count_and_others_do_not(requests: list[Fields], engines: int) -> None:
    classes = {
        "h100": _class(SELECTS),
        "nics": _class('device.driver == "dra.net"'),
        "extended": _class(extendedResourceName="example.com/gpu"),
    }
    args = _args(_claiming(args=("--data-parallel-size", "64")), ClaimDependencies({"eight": _template(*requests)}, classes))
    assert f"--data-parallel-size-local {engines} " in args


def test_a_claim_of_one_request_counts_that_alone() -> None:
    known = ClaimDependencies({"eight": _template(_exactly("a", count=2), _exactly("b", count=6))})
    args = _args(_claiming(claims=[{"name": "gpus", "request": "a"}], args=("--data-parallel-size", "64")), known)
    assert "--data-parallel-size-local 2 " in args


def test_limits_say_the_number_whatever_is_claimed_beside_them() -> None:
    component = _claiming(limits={"nvidia.com/gpu": "8"}, args=("--data-parallel-size", "64"))
    assert "--data-parallel-size-local 8 " in _args(component, ClaimDependencies())


@run_each(
    ("component", "known", "reason"),
    [
        (_claiming(), ClaimDependencies(), "claim gpus: ResourceClaimTemplate eight is not among the documents of the input"),
        (
            _claiming(),
            ClaimDependencies({"eight": "is not in the namespace; create it"}),
            "ResourceClaimTemplate eight is not in the namespace",
        ),
        (_claiming(), ClaimDependencies({"eight": _template(_exactly(device="h100"))}), "DeviceClass h100 is not among the documents"),
        (_claiming(), ClaimDependencies({"eight": _template(_exactly(allocationMode="All"))}), "request gpus asks for all devices"),
        (_claiming(), ClaimDependencies({"eight": _template(_exactly(device="h100"))}, {"h100": _class()}), "must name one driver"),
        (
            _claiming(),
            ClaimDependencies({"eight": _template({"name": "any", "firstAvailable": [_exactly(count=n)["exactly"] for n in (2, 4)]})}),
            "request any must give as many GPUs by each of its alternatives",
        ),
        (
            _claiming(resourceClaimTemplateName="", resourceClaimName="one"),
            ClaimDependencies(),
            "must name a template by resourceClaimTemplateName",
        ),
    ],
)
def test_what_cannot_be_counted_is_not_rendered_and_says_why(component: Fields, known: ClaimDependencies, reason: str) -> None:
    problem = _problem(component, known)
    assert reason in problem
    assert problem.startswith("spec.components[0].podTemplate.spec.resourceClaims: must give GPUs that can be counted")


def test_claims_without_gpus_are_no_gpus() -> None:
    known = ClaimDependencies({"eight": _template(_exactly(device="compute-domain-daemon.nvidia.com"))})
    assert "nvidia.com/gpu" in _problem(_claiming(), known)


def test_only_classes_whose_names_say_nothing_are_read() -> None:
    every = ["gpu.nvidia.com", "mig.nvidia.com", "compute-domain-daemon.nvidia.com", "h100", ""]
    assert find_needed_classes(_template(*[_exactly(device=name) for name in every])) == {"h100"}
