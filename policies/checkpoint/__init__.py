"""Rules about a DynamoCheckpoint; one file per theme."""
