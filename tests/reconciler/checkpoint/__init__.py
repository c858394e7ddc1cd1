"""Tests: DynamoCheckpoints."""
