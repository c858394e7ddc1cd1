"""The command `default`: shows or writes the defaults of the mutating webhooks."""
