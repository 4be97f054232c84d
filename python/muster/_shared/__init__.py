"""Transfer of large values through named shared memory of processes on one host."""
