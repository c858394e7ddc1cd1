"""The command `override`: lays a partial graph over a whole one."""
