"""What can be learnt of a cluster for rules, once and from outside: the installed operator here, the look itself in cli/gather.py."""
