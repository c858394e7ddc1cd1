"""DynamoGraphDeployments and their scaling adapters."""
