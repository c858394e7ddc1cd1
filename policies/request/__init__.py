"""Rules about a DynamoGraphDeploymentRequest."""
