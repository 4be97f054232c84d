// Loaded before a server, by LD_PRELOAD: syncs of RocksDB's log wait for as long as the file of
// MUSTER_TEST_DISK says "wait", and fail while it says "fail".
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool is_log(int fd) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  auto const n = ::readlink(link, path, sizeof path);
  return n > 4 && std::memcmp(path + n - 4, ".log", 4) == 0;
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

}  // namespace

extern "C" int fdatasync(int fd) {
  return sync(fd, "fdatasync");
}
extern "C" int fsync(int fd) {
  return sync(fd, "fsync");
}
