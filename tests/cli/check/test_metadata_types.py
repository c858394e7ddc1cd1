"""`check` finds a wrong JSON type in the metadata of an object inside another, at its line; a server would answer 400."""

from tests.cli.conftest import Command, Files

REQUEST = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeploymentRequest
metadata:
  name: r
spec:
  model: m
  image: i:1.5.0
  overrides:
    dgd:
      apiVersion: nvidia.com/v1beta1
      kind: DynamoGraphDeployment
      metadata:
        labels:
          team: 7
"""


def test_a_number_for_a_label_is_found_where_it_stands(command: Command, files: Files) -> None:
    files(r=REQUEST)
    ran = command("check", "-q", "r.yaml")
    assert ran.code == 1
    assert ran.out == "r.yaml:14:17 error wrong-type (DYN002): spec.overrides.dgd.metadata.labels[team]: must be a string, got number\n"


def test_a_type_at_the_root_is_told_once(command: Command, files: Files) -> None:
    files(r=REQUEST.replace("team: 7", "team: a").replace("  name: r", "  name: r\n  labels: {a: 7}\n  uid: 5"))
    found = command("check", "-q", "r.yaml", "-o", "json").json["findings"]
    assert sorted(finding["path"] for finding in found) == ["metadata.labels[a]", "metadata.uid"]
