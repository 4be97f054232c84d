"""The client: schedules closures, holds values, waits."""
