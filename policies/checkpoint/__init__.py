"""Rules about a DynamoCheckpoint; one file per rule."""
