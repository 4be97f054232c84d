"""Transfer of large values through memory that processes of one host share under a name."""
