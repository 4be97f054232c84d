"""Clients of the server's REST API: jobs, listings, programs, keys and barriers. Standard library only."""
