"""Clients of the server's REST API for jobs, listings, programs, keys and barriers. They use only the standard library.
"""
