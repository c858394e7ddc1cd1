"""The command line: every command of `dynamo-webhooks`, and how it finds, reads and prints objects."""
