"""Certificates at the command line: the provisioner as a process, and its work by hand."""
