"""Tests: DynamoGraphDeployments and their scaling adapters."""
