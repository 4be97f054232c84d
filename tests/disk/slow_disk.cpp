// Simulates disk faults in a server, loaded by LD_PRELOAD. The file of MUSTER_TEST_DISK contains
// the fault. "wait" blocks syncs of RocksDB's logs, and "fail" makes them fail with EIO. "full" and
// "broken" make writes below a directory `data` fail with ENOSPC or EIO.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

char const* path_of(int fd) {
  thread_local char path[4096];
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  auto const n = ::readlink(link, path, sizeof path - 1);
  path[n > 0 ? n : 0] = '\0';
  return path;
}

bool is_log(int fd) {
  char const* const path = path_of(fd);
  auto const n = std::strlen(path);
  return n > 4 && std::memcmp(path + n - 4, ".log", 4) == 0;
}

bool is_data(int fd) {
  return std::strstr(path_of(fd), "/data/") != nullptr;
}

bool says(char const* what) {
  char text[16] = {};
  char const* const file = std::getenv("MUSTER_TEST_DISK");
  int const fd = file != nullptr ? ::open(file, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return false;
  auto const n = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  return n > 0 && std::strncmp(text, what, std::strlen(what)) == 0;
}

int sync(int fd, char const* name) {
  if (is_log(fd)) {
    while (says("wait")) ::usleep(2'000);
    if (says("fail")) return errno = EIO, -1;
  }
  return reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, name))(fd);
}

// Returns the error of a write to `fd`, or 0.
int refusal(int fd) {
  if (!is_data(fd)) return 0;
  return says("full") ? ENOSPC : says("broken") ? EIO : 0;
}

}  // namespace

extern "C" ssize_t write(int fd, void const* bytes, std::size_t n) {
  if (int const error = refusal(fd); error != 0) return errno = error, -1;
  using function = ssize_t (*)(int, void const*, std::size_t);
  return reinterpret_cast<function>(::dlsym(RTLD_NEXT, "write"))(fd, bytes, n);
}
extern "C" ssize_t pwrite64(int fd, void const* bytes, std::size_t n, off64_t at) {
  if (int const error = refusal(fd); error != 0) return errno = error, -1;
  using function = ssize_t (*)(int, void const*, std::size_t, off64_t);
  return reinterpret_cast<function>(::dlsym(RTLD_NEXT, "pwrite64"))(fd, bytes, n, at);
}
extern "C" int fdatasync(int fd) {
  return sync(fd, "fdatasync");
}
extern "C" int fsync(int fd) {
  return sync(fd, "fsync");
}
