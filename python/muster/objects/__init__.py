"""Objects on tasks, for their callers: coordinators, and functions and objects on workers. Never imports grpc."""
