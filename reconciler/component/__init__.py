"""DynamoComponentDeployments."""
