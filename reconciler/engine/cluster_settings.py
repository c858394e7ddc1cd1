"""What a pass depends on beside objects, asked anew in each pass: configuration, cluster, and whether admission would refuse the object."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

from ...admission import pipeline
from ...api.paths import format_path
from ...conversion.lens.protocol import ConversionError
from ...kube.capability import DRA, GROVE, ISTIO, KAI, LWS, POOLS, Presence
from ...kube.protocol import Node
from ...policies.facts import UNKNOWN, Facts, Unknown
from ...policies.review import CREATE
from ...policies.rule import Level, Rule
from ..common.applied_diff import fingerprint
from ..common.keys import uid_of
from ..render.settings import Settings, settings_from
from .work import Work


def render_settings(work: Work, namespace: str) -> Settings:
    """Settings for objects of one namespace.

    What is served but not permitted counts as there: making it fails with a sentence about the permission, which is better than to run
    the same graph in another way. Pull secrets are nobody's but the pods': we may not read Secrets, hence name none.
    """
    return settings_from(work.settings, read_served(work.known()), service_account=work.cache.account(namespace) or "default")


def read_served(known: Mapping[str, Presence]) -> Settings:
    """What the cluster serves; what nobody knows counts as not there."""
    grove, lws, kai, dra, istio = (one.name in known and bool(known[one.name].served) for one in (GROVE, LWS, KAI, DRA, ISTIO))
    return Settings(grove=grove, lws=lws, kai=kai, dra=dra, istio=istio)


def read_facts(work: Work) -> Facts:
    """The facts by which objects are judged that no webhook has judged; what is not known is left to be so."""
    found, known = work.settings, work.known()

    def fact(name: str, switch: bool | None = None) -> bool | Unknown:
        presence = known.get(name)
        served = presence.served if presence is not None else None
        return switch if switch is not None else UNKNOWN if served is None else served

    switches = found.switches
    return Facts(
        operatorScope="namespace" if found.namespace.restricted else "cluster",
        operatorVersion=found.operator.version,
        operatorPrincipal=found.operator.principal,
        grove=fact(GROVE.name, switches["grove"]),
        lws=fact(LWS.name, switches["lws"]),
        dra=fact(DRA.name, switches["dra"]),
        istio=fact(ISTIO.name),
        inferencePool=fact(POOLS.name),
        gpuDiscovery=found.gpu.discovery_enabled,
        allowGmsSnapshot=found.gms_snapshot,
        checkpoint=found.checkpoint.enabled,
        lpx=found.lpx.enabled,
        switchedOff=found.switched_off,
    )


REMEMBERED: Final = 20_000  # objects, of some 300 bytes; judging one costs about a millisecond
LISTED: Final = 5  # findings in the message


class Judge:
    """Judges an object again only if it, a fact or a policy changed."""

    def __init__(self, policies: Callable[[], tuple[str, ...]] = tuple) -> None:
        """`policies` gives users' own that are in force now, as JSON."""
        self._policies = policies
        # uid -> what was judged (content, facts, policies), and the verdict
        self._known: OrderedDict[str, tuple[tuple[str, Facts, tuple[str, ...]], str]] = OrderedDict()

    def refusal(self, obj: Node, facts: Facts) -> str:
        """Why admission would refuse the object, or an empty string."""
        uid, judged = uid_of(obj), (fingerprint(obj), facts, self._policies())
        known = self._known.get(uid)
        if known is not None and known[0] == judged:
            return known[1]
        verdict = self.ask(obj, facts)
        self._known[uid] = judged, verdict
        self._known.move_to_end(uid)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return verdict

    def ask(self, obj: Node, facts: Facts) -> str:
        """The same of an object that isn't stored, which is judged each time."""
        return check_admission(obj, facts, self._policies())


def check_admission(obj: Node, facts: Facts, policies: tuple[str, ...] = ()) -> str:
    """Why admission would refuse an object, or an empty string; findings that depend on a user or on an unknown fact don't count."""
    kind, version = str(obj["kind"]), str(obj["apiVersion"]).rpartition("/")[2]
    write = pipeline.Admission(kind, version, CREATE, obj, user="", settings=pipeline.Settings(facts))
    if wrong := write.decode():
        return f"{format_path(wrong[0].path)}: {wrong[0].message}"
    try:
        found = write.judge()
        if policies:
            from ...admission.userrules.evaluate import Write, judge_by_policies

            found += judge_by_policies(policies, Write(kind, version, CREATE, obj, None, None, facts.line), facts, sure=True)
        errors = [one for one in found if one.level is Level.ERROR]
    except ConversionError as error:
        return f"{format_path(error.path)}: {error.reason}"
    texts = dict.fromkeys(f"{format_path(one.path)}: {one.text} [{_name(one.rule)}]" for one in errors[:LISTED])
    return "; ".join(texts) + (f"; and {len(errors) - LISTED} more" if len(errors) > LISTED else "")


def _name(rule: Rule) -> str:
    """The code of a rule, or the name of a user's policy."""
    return rule.code if rule.code.startswith("DYN") else rule.name
