"""The short way for large values: memory that processes of one host share, by its name."""
