// Who looks for what was left holds the lock while it removes: so nobody removes what another has
// just made, and two do not remove the same.
#include "process/own_directory.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace muster {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string const& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Whether the file is there that was opened: somebody may have removed it before it was locked.
bool is_there(int fd) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 && about.st_nlink > 0;
}

bool is_mine(fs::path const& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
         about.st_uid == ::geteuid();
}

// One without a lock is just being made, or of a version that had none.
void remove_left(std::string const& name) {
  std::error_code ignored;
  for (auto const& entry : fs::directory_iterator(fs::temp_directory_path(), ignored)) {
    if (!entry.path().filename().string().starts_with(name) || !is_mine(entry.path())) continue;
    auto const path = (entry.path() / "lock").string();
    file_descriptor const lock(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

own_directory::own_directory(std::string const& name) {
  remove_left(name);
  do {
    auto made = (fs::temp_directory_path() / (name + "XXXXXX")).string();
    if (!::mkdtemp(made.data())) fail(made);
    path_ = made;
    made += "/lock";
    lock_ = file_descriptor(::open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!lock_) fail(made);
  } while (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 || !is_there(lock_.get()));
}

own_directory::~own_directory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace muster
