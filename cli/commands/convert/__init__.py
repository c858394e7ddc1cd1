"""The command `convert`: writes objects of files in another version."""
