"""Objects on tasks, as seen by their callers, which are coordinators and the functions and objects on workers. Never
imports grpc.
"""
