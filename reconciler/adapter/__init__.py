"""DynamoGraphDeploymentScalingAdapters."""
