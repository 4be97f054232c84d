"""A server and workers on this machine, for as long as the program lives."""
