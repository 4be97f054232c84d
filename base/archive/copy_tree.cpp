#include "base/archive/copy_tree.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>
#include <vector>

#include "base/process/file_descriptor.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

// Returns false if the file system does not support copy-on-write.
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

void give(fs::path const& made, std::pair<uid_t, gid_t> owner) {
  if (::lchown(made.c_str(), owner.first, owner.second) != 0)
    throw std::system_error(errno, std::generic_category(), made.string());
}

}  // namespace

void copy_tree(fs::path const& from, fs::path const& to,
               std::optional<std::pair<uid_t, gid_t>> owner) {
  std::vector<fs::path> all;
  auto const make_directory = [](fs::path const& at) {
    fs::create_directories(at);
    fs::permissions(at, fs::perms(0755));
  };
  fs::create_directories(to);
  fs::permissions(to, fs::perms(0700));
  bool clones = true;
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
    all.push_back(made);
  }
  // Changes owners only when the copy is complete, and changes children before their directory.
  // Otherwise the new owner could replace an entry with a link while this process, possibly as
  // root, is still writing.
  for (auto made = all.rbegin(); owner && made != all.rend(); ++made) give(*made, *owner);
  fs::permissions(to, fs::perms(0755));
  if (owner) give(to, *owner);
}

}  // namespace muster
