/* Large values between processes, as a C interface for other languages: sealed memory, the values that a process
 * shares with processes of its user on its host, and the values that it exchanges with other hosts. The caller sends
 * the messages to the server: it locates values and announces the contents of a store.
 *
 * Handles. A store is a nonzero number, which is not reused. Functions return MUSTER_VALUES_CLOSED for a closed
 *   store, and for a store of the parent process. Closing a store waits for its threads and wakes those in
 *   muster_values_wait().
 * Ownership. The caller owns returned descriptors. muster_values_add() takes over its descriptor, even if it fails.
 *   Bytes that a caller passes are not used after the function has returned. Names have 32 bytes.
 * Threads. All functions are thread-safe. muster_values_take…() and muster_values_close() block without holding a
 *   lock. The library never calls back. Its own threads block all signals.
 * Errors. A negative result is one of the codes; muster_values_error() returns the message for this thread. No
 *   exception leaves the library.
 * Forks. A forked process closes all descriptors of the library at once and has no stores; it may open its own. It
 *   keeps its mappings.
 */
#ifndef MUSTER_VALUES_H
#define MUSTER_VALUES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MUSTER_VALUES_API __attribute__((visibility("default")))

/* The numbers of the caller and of the library must be equal. */
#define MUSTER_VALUES_INTERFACE 1

enum {
  MUSTER_VALUES_FAILED = -1,      /* a system call failed */
  MUSTER_VALUES_FULL = -2,        /* the limit of the store is exceeded */
  MUSTER_VALUES_UNKNOWN = -3,     /* the store does not have this content */
  MUSTER_VALUES_NOT_TAKEN = -4,   /* fetch it from another process or from the server */
  MUSTER_VALUES_CLOSED = -5,      /* the store does not exist, or is closed */
};

MUSTER_VALUES_API int muster_values_interface(void);
/* Returns the message of the last failed call on this thread. */
MUSTER_VALUES_API char const* muster_values_error(void);

/* Memory, without a store. */

/* Returns how many bytes a process may hold; 0: none. `asked` is -1 for the default. */
MUSTER_VALUES_API int64_t muster_values_bytes_max(int64_t asked);
/* Writes a string that is equal for processes that can reach each other's sockets; empty if unknown. `size` is at least
 * 33. */
MUSTER_VALUES_API int muster_values_host(char* into, size_t size);
/* Returns 1 if the system lets a process reuse memory that no other process has. */
MUSTER_VALUES_API int muster_values_memory_is_reused(void);
/* Returns a descriptor of a new content, which consists of `count` concatenated parts. This process keeps at most
 * `free_max` bytes of unused memory for further contents. */
MUSTER_VALUES_API int muster_values_make(void const* name, void const* const* parts, size_t const* sizes,
                                         size_t count, uint64_t free_max);
/* Frees the memory kept for further contents. Memory that other processes have stays valid. */
MUSTER_VALUES_API void muster_values_forget_unused(void);
MUSTER_VALUES_API int64_t muster_values_size(int fd);
/* Fails unless the descriptor contains this content, complete and sealed. */
MUSTER_VALUES_API int muster_values_check(int fd, void const* name, uint64_t size);
/* Returns 1 if the memory or file has the content of this name. */
MUSTER_VALUES_API int muster_values_is_named(int fd, void const* name);
/* Returns 1 if the bytes are equal. */
MUSTER_VALUES_API int muster_values_same(void const* one, void const* other, size_t size);

/* Stores. */

MUSTER_VALUES_API int64_t muster_values_open(uint64_t bytes_max);
MUSTER_VALUES_API int muster_values_close(int64_t store);
/* Writes the name of the socket at which other processes of this host fetch contents of the store. */
MUSTER_VALUES_API int muster_values_socket(int64_t store, char* into, size_t size);

/* Reserves room for a content that will be added. */
MUSTER_VALUES_API int muster_values_reserve(int64_t store, uint64_t size);
MUSTER_VALUES_API int muster_values_unreserve(int64_t store, uint64_t size);
/* Returns how many more bytes the store may hold. */
MUSTER_VALUES_API int64_t muster_values_free(int64_t store);
/* Adds a content, for which room was reserved. */
MUSTER_VALUES_API int muster_values_add(int64_t store, void const* name, int fd, uint64_t size);
MUSTER_VALUES_API int muster_values_drop(int64_t store, void const* name);
/* Returns a descriptor of a content of the store. */
MUSTER_VALUES_API int muster_values_opened(int64_t store, void const* name);
/* Writes names and sizes of the first `count` contents, and returns the number of all contents. */
MUSTER_VALUES_API int64_t muster_values_held(int64_t store, void* names, uint64_t* sizes, size_t count);

/* Returns a descriptor of a content of another process on this host. With `keep`, muster_values_wait() reports when
 * that process drops it. */
MUSTER_VALUES_API int muster_values_take(int64_t store, char const* socket, void const* name, uint64_t size, int keep);
/* Waits until another process drops a content that was taken with `keep`, possibly before muster_values_take() has
 * returned. Returns 1 and its name, or 0 after muster_values_wake(). Must be called by one thread at a time. */
MUSTER_VALUES_API int muster_values_wait(int64_t store, void* name);
MUSTER_VALUES_API int muster_values_wake(int64_t store);

/* Listens for other hosts; must be called once. `listen` is HOST or HOST:PORT; empty: the interface towards `server`.
 * `advertise` is the address for other hosts; empty: the address listened at. Writes the address for other hosts. */
MUSTER_VALUES_API int muster_values_listen(int64_t store, char const* listen, char const* advertise,
                                           char const* server, char* into, size_t size);
/* Sets the certificate and key in PEM format; empty: plaintext. */
MUSTER_VALUES_API int muster_values_certificate(int64_t store, char const* certificate, char const* key);
/* Accepts a ticket of 32 bytes for the content of this name. */
MUSTER_VALUES_API int muster_values_expect(int64_t store, void const* ticket, void const* name);
/* Returns a descriptor of a content of a process on another host. `certificate` is in PEM format; empty: plaintext. */
MUSTER_VALUES_API int muster_values_take_from_peer(int64_t store, char const* address, void const* ticket,
                                                   char const* certificate, void const* name, uint64_t size);
/* Records how long the server took for a value. Other hosts must be faster. */
MUSTER_VALUES_API int muster_values_by_server(int64_t store, uint64_t size, double seconds);

#ifdef __cplusplus
}
#endif

#endif
