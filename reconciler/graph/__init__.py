"""DynamoGraphDeployments."""
