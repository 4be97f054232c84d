"""Objects on tasks, for who calls them: coordinators, and functions and objects on workers. Never imports
grpc."""
