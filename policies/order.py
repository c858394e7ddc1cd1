"""The order of findings in an answer: the only place where it is written."""

from enum import IntEnum


class Stage(IntEnum):
    """Groups of rules in the order in which people read a denial: the object as a whole first, its parts next, changes last."""

    SHAPE = 10  # the object can't mean anything without these
    METADATA = 20  # annotations of the object
    STORAGE = 30  # claims declared by a graph
    RESTART = 40
    SCHEDULING = 50  # priority class
    TOPOLOGY = 60
    KV_TRANSFER = 70
    NAMES = 80  # lengths that Grove allows
    COMPONENT = 100  # plain fields of one component
    CHECKPOINT = 110
    EPP = 120
    GMS = 130  # the GPU memory service
    FAILOVER = 140
    SNAPSHOT = 150  # the gate of GMS with checkpoints
    REQUEST = 200  # DynamoGraphDeploymentRequest
    MODEL = 210
    IMMUTABLE = 300
    OWNERSHIP = 310  # who may write replicas
    LOCK = 320  # refused for as long as something else goes on
    ADVICE = 400  # warnings
    DEFAULT = 500
