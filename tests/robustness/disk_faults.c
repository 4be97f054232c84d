// A library for LD_PRELOAD that breaks the disk below one directory: slow or failing syncs, a full disk.
//
// MUSTER_DISK_DIR is the directory. MUSTER_DISK_CONTROL is a file of one byte that a test changes while the program
// runs: '0' no fault, 's' each sync takes 200 ms, 'e' syncs fail with EIO, 'f' writes fail with ENOSPC.
// MUSTER_DISK_SYNCED gets a line "SIZE PATH" after each successful sync, so that a test can cut off after a kill what
// a loss of power would have lost.
//
// The library also corrects waits for a time of the wall clock, which libfaketime fakes: see syscall below.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static char const volatile* control;
static char const* directory;
static int synced = -1;

#define ORIGINAL(result, name, ...) \
  static result (*original)(__VA_ARGS__); \
  if (!original) original = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

__attribute__((constructor)) static void begin(void) {
  char const* file = getenv("MUSTER_DISK_CONTROL");
  char const* log = getenv("MUSTER_DISK_SYNCED");
  directory = getenv("MUSTER_DISK_DIR");
  if (!file || !directory) return;
  int const fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* const at = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (at != MAP_FAILED) control = at;
  if (log) synced = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

static char fault(void) {
  return control ? *control : '0';
}

// Writes the path of a descriptor into `path`. Returns whether it lies below the directory.
static int is_below(int fd, char* path) {
  char link[64];
  if (!control) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t const size = readlink(link, path, PATH_MAX - 1);
  if (size < 0) return 0;
  path[size] = '\0';
  return strncmp(path, directory, strlen(directory)) == 0;
}

static int no_room(int fd) {
  char path[PATH_MAX];
  if (fault() != 'f' || !is_below(fd, path)) return 0;
  errno = ENOSPC;
  return 1;
}

static int synchronize(int fd, int (*original)(int)) {
  char path[PATH_MAX];
  struct stat before;
  if (!is_below(fd, path)) return original(fd);
  if (fault() == 'e') {
    errno = EIO;
    return -1;
  }
  if (fault() == 's') {
    struct timespec const pause = {0, 200000000};
    nanosleep(&pause, NULL);
  }
  // Bytes that are written while the sync runs may not be on the disk after it.
  int const known = fstat(fd, &before) == 0;
  int const result = original(fd);
  if (result == 0 && known && synced >= 0) {
    char line[PATH_MAX + 32];
    int const size = snprintf(line, sizeof line, "%lld %s\n", (long long)before.st_size, path);
    if (write(synced, line, (size_t)size) != size) abort();
  }
  return result;
}

int fsync(int fd) {
  ORIGINAL(int, "fsync", int);
  return synchronize(fd, original);
}

int fdatasync(int fd) {
  ORIGINAL(int, "fdatasync", int);
  return synchronize(fd, original);
}

ssize_t write(int fd, void const* data, size_t size) {
  ORIGINAL(ssize_t, "write", int, void const*, size_t);
  return no_room(fd) ? -1 : original(fd, data, size);
}

ssize_t writev(int fd, struct iovec const* pieces, int count) {
  ORIGINAL(ssize_t, "writev", int, struct iovec const*, int);
  return no_room(fd) ? -1 : original(fd, pieces, count);
}

ssize_t pwrite(int fd, void const* data, size_t size, off_t at) {
  ORIGINAL(ssize_t, "pwrite", int, void const*, size_t, off_t);
  return no_room(fd) ? -1 : original(fd, data, size, at);
}

ssize_t pwrite64(int fd, void const* data, size_t size, off64_t at) {
  ORIGINAL(ssize_t, "pwrite64", int, void const*, size_t, off64_t);
  return no_room(fd) ? -1 : original(fd, data, size, at);
}

int fallocate(int fd, int mode, off_t at, off_t size) {
  ORIGINAL(int, "fallocate", int, int, off_t, off_t);
  return no_room(fd) ? -1 : original(fd, mode, at, size);
}

int fallocate64(int fd, int mode, off64_t at, off64_t size) {
  ORIGINAL(int, "fallocate64", int, int, off64_t, off64_t);
  return no_room(fd) ? -1 : original(fd, mode, at, size);
}

int statvfs(char const* path, struct statvfs* got) {
  ORIGINAL(int, "statvfs", char const*, struct statvfs*);
  int const result = original(path, got);
  if (result == 0 && fault() == 'f' && strncmp(path, directory, strlen(directory)) == 0) got->f_bavail = got->f_bfree = 0;
  return result;
}

int statvfs64(char const* path, struct statvfs64* got) {
  ORIGINAL(int, "statvfs64", char const*, struct statvfs64*);
  int const result = original(path, got);
  if (result == 0 && fault() == 'f' && strncmp(path, directory, strlen(directory)) == 0) got->f_bavail = got->f_bfree = 0;
  return result;
}

static long long nanoseconds(struct timespec const* t) {
  return (long long)t->tv_sec * 1000000000 + t->tv_nsec;
}

// Abseil, which gRPC uses for its timers, waits on futexes until a time of the wall clock. It reads the faked clock, but
// the kernel compares with the real one. Without this correction, such a wait would end days too late or at once.
//
// A step of the real clock also moves the end of waits that have begun. This happens here only if MUSTER_CLOCK_STEPS is
// set: then a wait consists of parts of 50 ms, and the faked clock is read before each part.
long syscall(long number, ...) {
  static long (*original)(long, ...);
  if (!original) original = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  long a[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (number != SYS_futex || !(a[1] & FUTEX_CLOCK_REALTIME) || !a[3])
    return original(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  long long const end = nanoseconds((struct timespec const*)a[3]), part = 50000000;
  int const steps = getenv("MUSTER_CLOCK_STEPS") != NULL;
  for (;;) {
    struct timespec now, until;
    clock_gettime(CLOCK_REALTIME, &now);
    long long left = end - nanoseconds(&now);
    int const last = !steps || left <= part;
    if (!last) left = part;
    original(SYS_clock_gettime, CLOCK_REALTIME, &now);
    long long const at = nanoseconds(&now) + (left > 0 ? left : 0);
    until.tv_sec = at / 1000000000;
    until.tv_nsec = at % 1000000000;
    long const result = original(number, a[0], a[1], a[2], (long)&until, a[4], a[5]);
    if (last || result != -1 || errno != ETIMEDOUT) return result;
  }
}
