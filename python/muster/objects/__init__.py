"""Objects on tasks, as seen by their callers: coordinators, and functions and objects on workers. Never imports grpc.
"""
