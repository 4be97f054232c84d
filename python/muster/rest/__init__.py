"""Clients of the server's REST API for jobs, listings, programs, keys and barriers. The clients use only the standard
library.
"""
