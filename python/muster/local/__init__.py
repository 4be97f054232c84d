"""A server and workers on this machine, which exit with the program."""
