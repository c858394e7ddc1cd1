"""Rules about a DynamoModel; one file per rule."""
