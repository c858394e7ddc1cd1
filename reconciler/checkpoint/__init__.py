"""DynamoCheckpoints: the Job that takes a snapshot of a warm worker, the phases of that, and pods that are restored. Pure."""
