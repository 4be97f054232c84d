// A library for LD_PRELOAD that breaks the disk below one directory: slow or failing syncs, a full disk. It also sets the
// wall clock of a program.
//
// MUSTER_DISK_DIR is the directory. MUSTER_DISK_CONTROL is a file of 16 bytes that a test changes while the program
// runs. The first byte is the fault: '0' none, 's' each sync takes 200 ms, 'e' syncs fail with EIO, 'f' writes fail with
// ENOSPC. The last 8 bytes are a number: how many seconds the wall clock is ahead of the machine's.
// MUSTER_DISK_SYNCED gets a line "SIZE PATH" after each successful sync, so that a test can cut off after a kill what
// a loss of power would have lost.
//
// libfaketime could set the clock as well, but opens and reads a file for each look at the clock, which takes 5 us.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct control {
  char fault;
  char unused[7];
  int64_t seconds_ahead;
};

static struct control const volatile* control;
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
  void* const at = mmap(NULL, sizeof *control, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (at != MAP_FAILED) control = at;
  if (log) synced = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

static char fault(void) {
  return control ? control->fault : '0';
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

static int64_t seconds_ahead(void) {
  return control ? control->seconds_ahead : 0;
}

int clock_gettime(clockid_t clock, struct timespec* t) {
  ORIGINAL(int, "clock_gettime", clockid_t, struct timespec*);
  int const result = original(clock, t);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) t->tv_sec += seconds_ahead();
  return result;
}

int gettimeofday(struct timeval* restrict t, void* restrict zone) {
  ORIGINAL(int, "gettimeofday", struct timeval* restrict, void* restrict);
  int const result = original(t, zone);
  if (result == 0) t->tv_sec += seconds_ahead();
  return result;
}

time_t time(time_t* t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}

static long long nanoseconds(struct timespec const* t) {
  return (long long)t->tv_sec * 1000000000 + t->tv_nsec;
}

// Waits end by the machine's clock. So the end of a wait that a program computed from its own wall clock is moved.
int pthread_cond_timedwait(pthread_cond_t* restrict condition, pthread_mutex_t* restrict mutex, struct timespec const* restrict end) {
  static int (*original)(pthread_cond_t*, pthread_mutex_t*, struct timespec const*);
  if (!original) {
    void* const found = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");  // dlsym may find an older one
    original = (int (*)(pthread_cond_t*, pthread_mutex_t*, struct timespec const*))(
        found ? found : dlsym(RTLD_NEXT, "pthread_cond_timedwait"));
  }
  unsigned const is_monotonic = 2;  // of glibc: set by pthread_condattr_setclock
  struct timespec real = *end;
  if (!(condition->__data.__wrefs & is_monotonic)) real.tv_sec -= seconds_ahead();
  return original(condition, mutex, &real);
}

// Abseil, which gRPC uses for its timers, waits on futexes until a time of the wall clock, without a function of the C
// library that could be replaced. Without this correction, such a wait would end days too late or at once.
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
