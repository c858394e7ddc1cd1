"""Rules about a DynamoModel; one file per theme."""
