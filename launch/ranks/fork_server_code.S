# The bytes of fork_server.py, for fork_server.cpp.
    .section .rodata
    .global muster_fork_server_code
muster_fork_server_code:
    .incbin "fork_server.py"
    .byte 0
    .section .note.GNU-stack, "", @progbits
