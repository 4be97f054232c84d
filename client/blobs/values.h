/* Large values between processes, as a C interface for other languages: sealed memory, what a process gives to and
 * takes from processes of its user on its host, and what it gives to and takes from other hosts. The messages to the
 * server are the caller's: it locates values, and announces what a store holds.
 *
 * Handles. A store is a number, never 0, that stays unknown once it was closed; a closed or forked process' store
 *   answers MUSTER_VALUES_CLOSED. Closing waits for the threads of the store, and wakes those in
 *   muster_values_wait().
 * Ownership. A descriptor that a function returns is the caller's. muster_values_add() takes its descriptor, also
 *   when it fails. Bytes that a caller passes are copied, or read until the function returns. Names have 32 bytes.
 * Threads. Any thread may call any function. muster_values_take…() and muster_values_close() wait; no lock is held
 *   meanwhile. The library never calls back. Its own threads block all signals.
 * Errors. A result below 0 is one of the codes; muster_values_error() has the text for this thread. No exception
 *   leaves the library.
 * Forks. A forked process closes all descriptors of the library at once and has no stores; it may open its own.
 *   What it had mapped it keeps.
 */
#ifndef MUSTER_VALUES_H
#define MUSTER_VALUES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MUSTER_VALUES_API __attribute__((visibility("default")))

/* The caller's and the library's number must be equal. */
#define MUSTER_VALUES_INTERFACE 1

enum {
  MUSTER_VALUES_FAILED = -1,      /* the system refused */
  MUSTER_VALUES_FULL = -2,        /* more than the store may hold */
  MUSTER_VALUES_UNKNOWN = -3,     /* the store has no such content */
  MUSTER_VALUES_NOT_TAKEN = -4,   /* have it from another, or from the server */
  MUSTER_VALUES_CLOSED = -5,      /* there is no such store, or no more */
};

MUSTER_VALUES_API int muster_values_interface(void);
/* Of the last call on this thread that failed. */
MUSTER_VALUES_API char const* muster_values_error(void);

/* Memory, without a store. */

/* How much a process may hold; 0: nothing. `asked`: -1: the default. */
MUSTER_VALUES_API int64_t muster_values_bytes_max(int64_t asked);
/* The same text for processes that reach each other's sockets; empty: unknown. `size`: at least 33. */
MUSTER_VALUES_API int muster_values_host(char* into, size_t size);
/* Whether the system lets a process use memory again once nobody else has it. */
MUSTER_VALUES_API int muster_values_memory_is_reused(void);
/* A descriptor of new content: `count` parts, one behind the other. At most `free_max` bytes that nobody has stay
 * with this process for its next contents. */
MUSTER_VALUES_API int muster_values_make(void const* name, void const* const* parts, size_t const* sizes,
                                         size_t count, uint64_t free_max);
/* Keeps nothing for the next contents; those that have something keep it. */
MUSTER_VALUES_API void muster_values_forget_unused(void);
MUSTER_VALUES_API int64_t muster_values_size(int fd);
/* Fails unless it is that content, whole and sealed. */
MUSTER_VALUES_API int muster_values_check(int fd, void const* name, uint64_t size);
/* 1: the descriptor is of memory, or of a file, with the content of this name. */
MUSTER_VALUES_API int muster_values_is_named(int fd, void const* name);
/* 1: the bytes are equal. */
MUSTER_VALUES_API int muster_values_same(void const* one, void const* other, size_t size);

/* Stores. */

MUSTER_VALUES_API int64_t muster_values_open(uint64_t bytes_max);
MUSTER_VALUES_API int muster_values_close(int64_t store);
/* The name of the socket at which other processes of this host take what the store holds. */
MUSTER_VALUES_API int muster_values_socket(int64_t store, char* into, size_t size);

/* Room for a content that will be added. */
MUSTER_VALUES_API int muster_values_reserve(int64_t store, uint64_t size);
MUSTER_VALUES_API int muster_values_unreserve(int64_t store, uint64_t size);
/* Bytes that the store may still hold. */
MUSTER_VALUES_API int64_t muster_values_free(int64_t store);
/* Gives a content for which there is room from now on. */
MUSTER_VALUES_API int muster_values_add(int64_t store, void const* name, int fd, uint64_t size);
MUSTER_VALUES_API int muster_values_drop(int64_t store, void const* name);
/* A descriptor of what the store holds. */
MUSTER_VALUES_API int muster_values_opened(int64_t store, void const* name);
/* Names and sizes of the first `count` contents; returns how many there are. */
MUSTER_VALUES_API int64_t muster_values_held(int64_t store, void* names, uint64_t* sizes, size_t count);

/* A descriptor of what another process of this host holds. `keep`: muster_values_wait() reports when it goes. */
MUSTER_VALUES_API int muster_values_take(int64_t store, char const* socket, void const* name, uint64_t size, int keep);
/* Waits until something that was taken and kept goes, which may be before muster_values_take() has returned: 1, and
 * its name; or for muster_values_wake(): 0. One thread at a time. */
MUSTER_VALUES_API int muster_values_wait(int64_t store, void* name);
MUSTER_VALUES_API int muster_values_wake(int64_t store);

/* Other hosts. `listen`: HOST or HOST:PORT, empty: the interface by which `server` is reached. `advertise`: what
 * others are told; empty: the same. Writes the address that others are told. Once. */
MUSTER_VALUES_API int muster_values_listen(int64_t store, char const* listen, char const* advertise,
                                           char const* server, char* into, size_t size);
/* PEM; empty: plaintext is spoken. */
MUSTER_VALUES_API int muster_values_certificate(int64_t store, char const* certificate, char const* key);
/* Somebody will bring this ticket, of 32 bytes, for what is held under this name. */
MUSTER_VALUES_API int muster_values_expect(int64_t store, void const* ticket, void const* name);
/* A descriptor of what a process of another host holds. `certificate`: PEM, empty: plaintext is spoken. */
MUSTER_VALUES_API int muster_values_take_from_peer(int64_t store, char const* address, void const* ticket,
                                                   char const* certificate, void const* name, uint64_t size);
/* How long a value took to come from the server: another host is to be faster. */
MUSTER_VALUES_API int muster_values_by_server(int64_t store, uint64_t size, double seconds);

#ifdef __cplusplus
}
#endif

#endif
