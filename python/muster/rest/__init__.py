"""Clients of the server's HTTP side: jobs and listings, keys and barriers. Standard library only."""
