"""The project file `.dynamo-webhooks.yaml`: where it is found, what it may say, and how it is laid under the flags of a command."""
