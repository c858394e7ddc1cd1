"""Rules about a DynamoGraphDeploymentRequest; one file per rule."""
