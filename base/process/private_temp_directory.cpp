// A process removes a directory only while it holds the directory's lock, so a new directory is
// never removed.
#include "base/process/private_temp_directory.hpp"

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

// Returns whether the opened file still exists. Another process can remove the file before it is
// locked.
bool is_there(int fd) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 && about.st_nlink > 0;
}

bool is_mine(fs::path const& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
         about.st_uid == ::geteuid();
}

// Returns whether the Python package created the directory. The package locks the directory itself.
bool is_of_python(std::string const& name) {
  return name.starts_with("muster-worker-") || name.starts_with("muster-local-") ||
         name.starts_with("muster-upload-");
}

// A directory without a lock is still being created, or is from a version without locks.
file_descriptor open_lock(fs::path const& directory, bool of_python) {
  return file_descriptor(
      of_python ? ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                : ::open((directory / "lock").c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

void remove_orphaned_directories(std::string const& name) {
  std::error_code ignored;
  for (auto const& entry : fs::directory_iterator(fs::temp_directory_path(ignored), ignored)) {
    auto const found = entry.path().filename().string();
    bool const of_python = is_of_python(found);
    if ((!of_python && !found.starts_with(name)) || !is_mine(entry.path())) continue;
    auto const lock = open_lock(entry.path(), of_python);
    if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    fs::remove_all(entry.path(), ignored);
  }
}

private_temp_directory::private_temp_directory(std::string const& name) {
  remove_orphaned_directories(name);
  do {
    auto made = (fs::temp_directory_path() / (name + "XXXXXX")).string();
    if (!::mkdtemp(made.data())) fail(made);
    path_ = made;
    made += "/lock";
    lock_ = file_descriptor(::open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!lock_) fail(made);
  } while (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 || !is_there(lock_.get()));
}

private_temp_directory::~private_temp_directory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace muster
