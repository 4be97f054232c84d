"""A server and workers on this machine, which end with the program."""
