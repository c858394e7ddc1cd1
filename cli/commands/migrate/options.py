"""The flags of `migrate`."""

from typing import Annotated, Final, NamedTuple

from ...console import flags
from ...console.options import option, repeatable, switch

VERSIONS: Final = ("v1alpha1", "v1beta1")
SETTLE_SECONDS: Final = 60.0  # the time limit of a request to an API server, for which a write may be under way
RETRY_TIMEOUT_SECONDS: Final = 1800.0  # of an API server or a webhook that fails


class Options(NamedTuple):
    """Flags of a run."""

    to: Annotated[str, option("version to store all objects in; required", choices=VERSIONS)] = ""
    kinds: Annotated[tuple[str, ...], repeatable("only this kind; repeatable (default: all with two versions)", "--kind", "KIND")] = ()
    namespace: Annotated[
        str, option("only objects of this namespace; status.storedVersions isn't updated then", "--namespace", "-n", "NS")
    ] = ""
    dry_run: Annotated[bool, switch("print what would happen, and write nothing")] = False
    verify: Annotated[bool, switch("only verify: change no definition; objects stored in another version are moved")] = False
    retire: Annotated[str | None, option("also list objects whose managed fields name this version", "VERSION", choices=VERSIONS)] = None
    rate: Annotated[float | None, option("maximum objects per second (default: as fast as possible)", "N", type=float)] = None
    settle: Annotated[float, option("wait before the proof (default 60: a request's time limit)", "SECONDS", type=float)] = SETTLE_SECONDS
    patience: Annotated[float, option("wait for a failing API server or webhook (default 1800)", "SECONDS", type=float)] = (
        RETRY_TIMEOUT_SECONDS
    )
    servers: Annotated[
        tuple[str, ...], repeatable("one of the API servers; repeatable (default: the cluster's)", "--api-server", "URL")
    ] = ()
    take_over: Annotated[bool, switch("continue even if the operator's own migrator hasn't observed the definitions")] = False
    kubeconfig: flags.Kubeconfig = ""
    context: flags.Context = ""
    output: Annotated[str, flags.output("text", "json", text="format of the report (default text)")] = "text"
    workers: int = 8  # writes under way at once
