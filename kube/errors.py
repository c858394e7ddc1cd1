"""Refusals of an API server, by HTTP status and reason. Messages are the server's own sentences; they hold no secret values."""


class ApiError(Exception):
    """An answer that isn't a success, or none at all (`code` 0)."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        """`reason` is the machine-readable one of a Status (`NotFound`, `Conflict`...), empty when there is none."""
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message


class NotFoundError(ApiError):
    """404: the object, or the kind itself, is not there."""


class NotServedError(NotFoundError):
    """404 that names no object: the API server does not serve the kind, or not in this version."""


class AlreadyExistsError(ApiError):
    """409 AlreadyExists."""


class ConflictError(ApiError):
    """409 Conflict: another client changed the object, or owns a field that an apply would change."""


class ForbiddenError(ApiError):
    """401 or 403: a permission is missing; the message names it."""


class InvalidError(ApiError):
    """400 or 422: the server rejects the request as invalid."""


class GoneError(ApiError):
    """410: a resourceVersion that is too old; list again, or go on from `resume` with today's objects."""

    resume: str = ""  # the token for the rest of a list, of the newest objects; empty when the server gave none


class UnavailableError(ApiError):
    """The server could not be reached, is overloaded (429), or failed (5xx); asking again later may work."""


def error_of_status(code: int, reason: str, message: str, name: str = "") -> ApiError:
    """The error for an HTTP status, the machine-readable reason of its Status and the object that its details name."""
    if code == 409:
        return (AlreadyExistsError if reason == "AlreadyExists" else ConflictError)(code, reason, message)
    if code == 404 and not name:
        return NotServedError(code, reason, message)
    known = {400: InvalidError, 401: ForbiddenError, 403: ForbiddenError, 404: NotFoundError, 410: GoneError, 422: InvalidError}
    if code in known:
        return known[code](code, reason, message)
    return (UnavailableError if code == 429 or code >= 500 else ApiError)(code, reason, message)


def lacks_permission(error: ApiError) -> bool:
    """Whether a call was refused for want of a permission: quotas, Pod Security and webhooks answer 403, too."""
    return isinstance(error, ForbiddenError) and "cannot " in error.message
