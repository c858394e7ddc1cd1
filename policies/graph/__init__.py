"""Rules about a whole DynamoGraphDeployment; one file per theme."""
