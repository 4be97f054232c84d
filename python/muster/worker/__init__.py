"""Executes the calls of clients in Python. Internal, except for the names that `muster` exports."""
