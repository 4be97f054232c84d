"""Messages and streams of the server's protocol. Internal."""
