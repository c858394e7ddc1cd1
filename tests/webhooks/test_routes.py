"""The table of paths: those of the Go operator exactly, and the other versions."""

from dynamo_webhooks.admission.new_pods import PATH
from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.webhooks.routes import ALIASES, ROUTES, find_route

READ = {
    "/validate-nvidia-com-v1beta1-dynamocomponentdeployment",
    "/validate-nvidia-com-v1beta1-dynamographdeployment",
    "/validate-nvidia-com-v1alpha1-dynamocheckpoint",
    "/validate-nvidia-com-v1alpha1-dynamomodel",
    "/validate-nvidia-com-v1beta1-dynamographdeploymentrequest",
    "/mutate-nvidia-com-v1beta1-dynamographdeployment",
    "/mutate-nvidia-com-v1beta1-dynamocomponentdeployment",
    "/mutate-nvidia-com-v1beta1-dynamographdeploymentrequest",
    "/validate-nvidia-com-v1beta2-dynamographdeploymentrequest",
}


def test_the_version_that_rules_read_needs_no_conversion() -> None:
    routes = (route for route in ROUTES.values() if route.purpose in (Purpose.VALIDATE, Purpose.MUTATE))
    assert {route.path for route in routes if not route.converts} == READ


def test_both_versions_of_the_three_kinds_are_served() -> None:
    names = ("dynamographdeployment", "dynamocomponentdeployment", "dynamographdeploymentrequest")
    wanted = {
        f"/{purpose}-nvidia-com-{version}-{name}"
        for purpose in ("validate", "mutate")
        for version in ("v1alpha1", "v1beta1")
        for name in names
    }
    assert set(ROUTES) == wanted | READ | {"/convert", PATH}


# how line 1.5 of the Go operator registers, where that differs from READ
LINE_1_5 = {
    "/validate/nvidia.com/v1beta1/dynamographdeployments": "/validate-nvidia-com-v1beta1-dynamographdeployment",
    "/validate/nvidia.com/v1beta1/dynamocomponentdeployments": "/validate-nvidia-com-v1beta1-dynamocomponentdeployment",
    "/mutate/nvidia.com/v1beta1/dynamographdeployments": "/mutate-nvidia-com-v1beta1-dynamographdeployment",
}


def test_registrations_of_line_1_5_find_their_paths() -> None:
    assert {path: route.path for path, route in ALIASES.items()} == LINE_1_5
    for path, same in LINE_1_5.items():
        assert find_route(f"{path}?timeout=10s") is ROUTES[same]


def test_paths_are_their_own_keys() -> None:
    assert all(path == route.path for path, route in ROUTES.items())
