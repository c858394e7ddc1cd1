"""The project file `.dynamo-webhooks.yaml`: its discovery, its content, and how flags override it."""
