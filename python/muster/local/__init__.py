"""Runs a server and workers on this machine until the program exits."""
