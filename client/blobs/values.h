/* C interface for other languages to exchange large values between processes: sealed memory, values
 * shared with processes of the same user on this host, and values exchanged with other hosts. The
 * caller exchanges the messages with the server: it locates values, and announces the values in a
 * store.
 *
 * A store is identified by a nonzero number, which is not reused. Functions return
 * MUSTER_VALUES_CLOSED for a closed store, and for a store of the parent process. Closing a store
 * waits for its threads, and wakes threads in muster_values_wait().
 *
 * The caller owns returned descriptors. muster_values_add() takes ownership of its descriptor, even
 * if it fails. Passed bytes are not used after the function has returned. Names have 32 bytes.
 *
 * All functions are thread-safe. muster_values_take…() and muster_values_close() block without
 * holding a lock. The library never calls back. The threads of the library block all signals.
 *
 * A negative result is an error code; muster_values_error() returns the message for this thread. No
 * exception leaves the library.
 *
 * A forked process immediately closes all descriptors of the library and has no stores, but can
 * open new stores. The process keeps its mappings.
 */
#ifndef MUSTER_VALUES_H
#define MUSTER_VALUES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MUSTER_VALUES_API __attribute__((visibility("default")))

/* Interface version; must be equal in the caller and in the library. */
#define MUSTER_VALUES_INTERFACE 1

enum {
  MUSTER_VALUES_FAILED = -1,    /* a system call failed */
  MUSTER_VALUES_FULL = -2,      /* the store's limit is exceeded */
  MUSTER_VALUES_UNKNOWN = -3,   /* the store does not contain this value */
  MUSTER_VALUES_NOT_TAKEN = -4, /* fetch the value from another process or the server */
  MUSTER_VALUES_CLOSED = -5,    /* the store does not exist, or is closed */
};

MUSTER_VALUES_API int muster_values_interface(void);
/* Returns the message of the last failed call on this thread. */
MUSTER_VALUES_API char const* muster_values_error(void);

/* Memory, without a store. */

/* Returns the maximum number of bytes that a process can hold. `asked` is -1 for the default. */
MUSTER_VALUES_API int64_t muster_values_bytes_max(int64_t asked);
/* Writes a string that is the same for all processes that can reach each other's sockets, or an
 * empty string if it is unknown. `size` must be at least 33. */
MUSTER_VALUES_API int muster_values_host(char* into, size_t size);
/* Returns 1 if a process can reuse memory that no other process has. */
MUSTER_VALUES_API int muster_values_memory_is_reused(void);
/* Returns a descriptor of a new value, concatenated from `count` parts. This process keeps at
 * most `free_max` bytes of unused memory for further values. */
MUSTER_VALUES_API int muster_values_make(void const* name, void const* const* parts,
                                         size_t const* sizes, size_t count, uint64_t free_max);
/* Frees the memory kept for further values. Memory that other processes use stays valid. */
MUSTER_VALUES_API void muster_values_forget_unused(void);
MUSTER_VALUES_API int64_t muster_values_size(int fd);
/* Fails unless the descriptor contains this complete, sealed value. */
MUSTER_VALUES_API int muster_values_check(int fd, void const* name, uint64_t size);
/* Returns 1 if the memory or file contains the value with this name. */
MUSTER_VALUES_API int muster_values_is_named(int fd, void const* name);
/* Returns 1 if the bytes are equal. */
MUSTER_VALUES_API int muster_values_same(void const* one, void const* other, size_t size);

/* Stores. */

MUSTER_VALUES_API int64_t muster_values_open(uint64_t bytes_max);
MUSTER_VALUES_API int muster_values_close(int64_t store);
/* Writes the name of the socket through which other processes on this host fetch values of the
 * store. */
MUSTER_VALUES_API int muster_values_socket(int64_t store, char* into, size_t size);

/* Reserves room for muster_values_add(). */
MUSTER_VALUES_API int muster_values_reserve(int64_t store, uint64_t size);
MUSTER_VALUES_API int muster_values_unreserve(int64_t store, uint64_t size);
/* Returns how many more bytes fit into the store. */
MUSTER_VALUES_API int64_t muster_values_free(int64_t store);
/* Adds a value. Room for the value must have been reserved. */
MUSTER_VALUES_API int muster_values_add(int64_t store, void const* name, int fd, uint64_t size);
MUSTER_VALUES_API int muster_values_drop(int64_t store, void const* name);
MUSTER_VALUES_API int muster_values_opened(int64_t store, void const* name);
/* Writes the names and sizes of the first `count` values. Returns the number of all values. */
MUSTER_VALUES_API int64_t muster_values_held(int64_t store, void* names, uint64_t* sizes,
                                             size_t count);

/* Returns a descriptor of a value that another process on this host holds. With `keep`,
 * muster_values_wait() reports when that process drops the value. */
MUSTER_VALUES_API int muster_values_take(int64_t store, char const* socket, void const* name,
                                         uint64_t size, int keep);
/* Waits until another process drops a value that was taken with `keep`, possibly before
 * muster_values_take() has returned. Returns 1 and writes the name, or returns 0 after
 * muster_values_wake(). Only one thread may call this function at a time. */
MUSTER_VALUES_API int muster_values_wait(int64_t store, void* name);
MUSTER_VALUES_API int muster_values_wake(int64_t store);

/* Listens for connections from other hosts; must be called only once. `listen` is HOST or
 * HOST:PORT; if empty, the network interface with the route to `server` is used. `advertise` is the
 * address for other hosts; if empty, the listening address is used. Writes the address for other
 * hosts. */
MUSTER_VALUES_API int muster_values_listen(int64_t store, char const* listen, char const* advertise,
                                           char const* server, char* into, size_t size);
/* Sets the certificate and key in PEM format; if empty, plaintext is used. */
MUSTER_VALUES_API int muster_values_certificate(int64_t store, char const* certificate,
                                                char const* key);
/* Accepts a 32-byte ticket for the value with this name. */
MUSTER_VALUES_API int muster_values_expect(int64_t store, void const* ticket, void const* name);
/* Returns a descriptor of a value that a process on another host holds. `certificate` is in PEM
 * format; if empty, plaintext is used. */
MUSTER_VALUES_API int muster_values_take_from_peer(int64_t store, char const* address,
                                                   void const* ticket, char const* certificate,
                                                   void const* name, uint64_t size);
/* Records how long the server took for a value. Transfers from other hosts must be as fast. */
MUSTER_VALUES_API int muster_values_record_server_time(int64_t store, uint64_t size,
                                                       double seconds);

#ifdef __cplusplus
}
#endif

#endif
