"""DynamoCheckpoints: the Job that takes a snapshot of a warm worker, its phases, and pods that are restored."""
