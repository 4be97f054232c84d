#include "archive/copy_tree.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "process/file_descriptor.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

// Shares the contents; false: not on this file system.
bool clone_file(fs::path const& from, fs::path const& to) {
  file_descriptor const source(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat about {};
  if (!source || ::fstat(source.get(), &about) != 0) return false;
  file_descriptor const copy(
      ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, about.st_mode & 0777));
  if (!copy) return false;
  if (::ioctl(copy.get(), FICLONE, source.get()) == 0 &&
      ::fchmod(copy.get(), about.st_mode & 0777) == 0)
    return true;
  ::unlink(to.c_str());
  return false;
}

}  // namespace

void copy_tree(fs::path const& from, fs::path const& to,
               std::optional<std::pair<uid_t, gid_t>> owner) {
  auto const own = [&owner](fs::path const& made) {
    if (owner && ::lchown(made.c_str(), owner->first, owner->second) != 0)
      throw std::system_error(errno, std::generic_category(), made.string());
  };
  auto const make_directory = [](fs::path const& at) {
    fs::create_directories(at);
    fs::permissions(at, fs::perms(0755));
  };
  make_directory(to);
  own(to);
  bool clones = true;  // one file system is asked once
  for (auto it = fs::recursive_directory_iterator(from); it != fs::end(it); ++it) {
    auto const made = to / it->path().lexically_relative(from);
    if (it->is_symlink()) {
      fs::copy_symlink(it->path(), made);
    } else if (it->is_directory()) {
      make_directory(made);
    } else {
      clones = clones && clone_file(it->path(), made);
      if (!clones) fs::copy_file(it->path(), made);
    }
    own(made);
  }
}

}  // namespace muster
