"""Users' own rules: reads the policy files that a project names, and gathers what policies read besides the object."""
