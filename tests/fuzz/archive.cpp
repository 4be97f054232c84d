// Fuzzes the unpacking of uploaded archives: tar, plain or compressed with gzip or zstd. The input
// is the archive. It is unpacked into an empty folder of a temporary directory, next to a file and
// a folder that must not change.
//
// Checked properties:
// - An archive is unpacked, or refused with a message of limited length.
// - Nothing outside the folder is created, removed or changed, also if the archive is refused.
// - The folder contains only files, directories and symbolic links. Files are not setuid. A link
//   leads to a path inside the folder.
// - The limits for entries and bytes hold, also if the archive is refused.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>

#include "base/archive/unpack.hpp"
#include "base/process/file_descriptor.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

namespace fs = std::filesystem;
using fuzz::require;

constexpr muster::tree_limits limits{.bytes_max = 64 << 10, .entries_max = 32};
constexpr std::size_t message_bytes_max = 4'096;
constexpr mode_t mode_outside = 0700;

mode_t mode_of(fs::path const& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
}

std::set<std::string> names_in(fs::path const& folder) {
  std::set<std::string> all;
  for (auto const& e : fs::directory_iterator(folder)) all.insert(e.path().filename().string());
  return all;
}

// The directory tree, which all inputs share:
//
//   base/outside/out      the archive is unpacked here
//   base/outside/folder   with a file
//   base/outside/file
class place {
 public:
  place() {
    fs::create_directories(outside_ / "folder");
    base_.write("outside/folder/file", text);
    base_.write("outside/file", text);
    for (auto const* name : {"", "folder", "file", "folder/file"})
      fs::permissions(outside_ / name, fs::perms(mode_outside));
    archive_ = muster::file_descriptor(::memfd_create("archive", MFD_CLOEXEC));
    require(static_cast<bool>(archive_), "the system has memory files");
  }

  fs::path out() const { return outside_ / "out"; }
  /// Returns the path of a file with these bytes.
  fs::path archive(std::uint8_t const* data, std::size_t size) const {
    bool const written = ::ftruncate(archive_.get(), 0) == 0 &&
                         ::pwrite(archive_.get(), data, size, 0) == static_cast<ssize_t>(size);
    require(written, "the archive is written");
    return "/proc/self/fd/" + std::to_string(archive_.get());
  }
  void require_unchanged() const {
    require(names_in(base_.path()) == std::set<std::string>{"outside"},
            "nothing is created above the folder");
    require(names_in(outside_) == std::set<std::string>{"file", "folder", "out"},
            "nothing is created or removed next to the folder");
    require(names_in(outside_ / "folder") == std::set<std::string>{"file"},
            "nothing is created or removed in another folder");
    for (auto const* name : {"", "folder", "file", "folder/file"})
      require(mode_of(outside_ / name) == mode_outside, "no permissions change outside");
    for (auto const* name : {"file", "folder/file"})
      require(muster::test::read_file(outside_ / name) == text, "no file changes outside");
  }

 private:
  static constexpr char text[] = "unchanged";

  muster::test::temporary_directory base_;
  fs::path const outside_ = base_ / "outside";
  muster::file_descriptor archive_;
};

// Returns whether the path stays below its beginning. Its names are not looked up.
bool stays_inside(fs::path const& path) {
  if (path.is_absolute()) return false;
  auto const shortest = path.lexically_normal();
  return shortest.empty() || *shortest.begin() != "..";
}

struct contents {
  std::size_t files_and_links = 0;
  std::uint64_t bytes = 0;
};

contents require_harmless(fs::path const& folder) {
  contents found;
  std::error_code error;
  auto it = fs::recursive_directory_iterator(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    auto const type = it->symlink_status(error).type();
    if (error || type == fs::file_type::directory) continue;
    ++found.files_and_links;
    if (type == fs::file_type::regular) {
      require((mode_of(it->path()) & 07000) == 0, "a file has no special permissions");
      auto const size = it->file_size(error);
      if (!error) found.bytes += size;
      continue;
    }
    require(type == fs::file_type::symlink, "an entry is a file, a directory or a symbolic link");
    auto const below = it->path().lexically_relative(folder).parent_path();
    auto const target = fs::read_symlink(it->path(), error);
    require(stays_inside(below / target), "a symbolic link leads to a path inside the folder");
  }
  return found;
}

std::optional<muster::unpacked_tree> unpacked(fs::path const& archive, fs::path const& folder) {
  try {
    return muster::unpack(archive, folder, limits);
  } catch (muster::unpack_error const& e) {
    std::string const why = e.what();
    require(!why.empty() && why.size() <= message_bytes_max, "a refusal has a short message");
    return {};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static place const here;
  fs::create_directory(here.out());
  auto const made = unpacked(here.archive(data, size), here.out());
  here.require_unchanged();
  auto const found = require_harmless(here.out());
  require(found.bytes <= limits.bytes_max, "the bytes of an archive are limited");
  require(found.files_and_links <= limits.entries_max, "the entries of an archive are limited");
  if (made) {
    require(made->entries <= limits.entries_max, "the number of entries is limited");
    require(made->bytes <= limits.bytes_max && found.bytes <= made->bytes,
            "the number of bytes is limited");
  }
  fs::remove_all(here.out());
  return 0;
}
