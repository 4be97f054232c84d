"""The client: schedules closures, stores the handles of values and waits for results."""
