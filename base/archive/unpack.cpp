// This code validates each entry before libarchive creates the entry and validates its path again.
#include "base/archive/unpack.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <memory>
#include <string>

#include "base/utf8.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t block_bytes = std::size_t{64} << 10;
constexpr std::size_t name_bytes_max = 4'096;
constexpr std::size_t shown_bytes_max = 120;
constexpr std::size_t reason_bytes_max = 500;

// Rejects absolute paths, which libarchive cannot detect, because it receives names below the
// target directory.
constexpr int flags =
    ARCHIVE_EXTRACT_SECURE_NODOTDOT | ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_PERM;

bool stays_inside(fs::path const& path) {
  if (path.is_absolute()) return false;
  int depth = 0;
  for (auto const& name : path) {
    if (name == "..")
      --depth;
    else if (name != "." && !name.empty())
      ++depth;
    if (depth < 0) return false;
  }
  return true;
}

// Returns the directory in which libarchive creates the entry. libarchive ignores "." and slashes
// at the end of a name, so "a/b/" and "a/b/." are created in "a".
fs::path directory_of(fs::path const& path) {
  fs::path directory, last;
  for (auto const& name : path) {
    if (name == "." || name.empty()) continue;
    directory /= last;
    last = name;
  }
  return directory;
}

class unpacker {
 public:
  unpacker(fs::path const& to, tree_limits const& limits)
      : to_(fs::canonical(to)), limits_(limits) {
    archive_read_support_format_tar(from_.get());
    archive_read_support_filter_gzip(from_.get());
    archive_read_support_filter_zstd(from_.get());
    archive_write_disk_set_options(disk_.get(), flags);
  }

  unpacked_tree run(fs::path const& file) {
    check(archive_read_open_filename(from_.get(), file.c_str(), block_bytes), from_.get());
    archive_entry* entry = nullptr;
    for (;;) {
      auto const said = archive_read_next_header(from_.get(), &entry);
      if (said == ARCHIVE_EOF) break;
      check(said, from_.get());
      take(entry);
    }
    check(archive_write_close(disk_.get()), disk_.get());
    return made_;
  }

 private:
  void take(archive_entry* entry) {
    auto const* const said = archive_entry_pathname(entry);
    if (!said) throw unpack_error("the archive contains an entry without a name");
    std::string const name = said;
    if (++made_.entries > limits_.entries_max)
      throw unpack_error("the archive has more than " + std::to_string(limits_.entries_max) +
                         " entries");
    judge(entry, name);
    archive_entry_set_pathname(entry, (to_ / name).c_str());
    auto const type = archive_entry_filetype(entry);
    bool const executable = (archive_entry_perm(entry) & 0100) != 0;
    archive_entry_set_perm(entry, type == AE_IFREG && !executable ? 0644 : 0755);
    archive_entry_acl_clear(entry);
    archive_entry_xattr_clear(entry);
    archive_entry_set_fflags(entry, 0, 0);
    check(archive_write_header(disk_.get(), entry), disk_.get());
    if (type == AE_IFREG) take_content(name, static_cast<std::uint64_t>(archive_entry_size(entry)));
    check(archive_write_finish_entry(disk_.get()), disk_.get());
  }

  void judge(archive_entry* entry, std::string const& name) const {
    auto const shown = in_short(name) + " of the archive ";
    if (name.size() > name_bytes_max)
      throw unpack_error(shown + "has a name longer than " + std::to_string(name_bytes_max) +
                         " bytes");
    if (name.empty() || !stays_inside(name) || has_dots(name))
      throw unpack_error(shown + "points outside the directory");
    if (archive_entry_hardlink(entry)) throw unpack_error(shown + "is a hard link");
    switch (archive_entry_filetype(entry)) {
      case AE_IFDIR:
        return;
      case AE_IFREG:
        if (!archive_entry_size_is_set(entry) || archive_entry_size(entry) < 0 ||
            static_cast<std::uint64_t>(archive_entry_size(entry)) > limits_.bytes_max - made_.bytes)
          throw too_large();
        return;
      case AE_IFLNK: {
        auto const* const target = archive_entry_symlink(entry);
        if (!target || fs::path(target).is_absolute() || !stays_inside(directory_of(name) / target))
          throw unpack_error(shown + "is a symbolic link that points outside the directory");
        return;
      }
      default:
        throw unpack_error(shown + "is not a file, directory or symbolic link");
    }
  }

  static std::string in_short(std::string const& name) {
    return "'" + shortened(to_utf8(name), shown_bytes_max) + "'";
  }

  static bool has_dots(fs::path const& path) {
    for (auto const& name : path)
      if (name == "..") return true;
    return false;
  }

  void take_content(std::string const& name, std::uint64_t size) {
    std::uint64_t end = size;  // a hole at the end of a file has no block
    for (;;) {
      void const* bytes = nullptr;
      std::size_t n = 0;
      la_int64_t at = 0;
      auto const said = archive_read_data_block(from_.get(), &bytes, &n, &at);
      if (said == ARCHIVE_EOF) break;
      check(said, from_.get());
      end = std::max(end, static_cast<std::uint64_t>(at) + n);
      if (at < 0 || end > limits_.bytes_max - made_.bytes) throw too_large();
      if (archive_write_data_block(disk_.get(), bytes, n, at) < ARCHIVE_OK)
        throw unpack_error(in_short(name) + " cannot be written: " + reason(disk_.get()));
    }
    made_.bytes += end;
  }

  unpack_error too_large() const {
    return unpack_error("the archive unpacks to more than " + std::to_string(limits_.bytes_max) +
                        " bytes");
  }

  static std::string reason(archive* a) {
    auto const* const said = archive_error_string(a);
    return said ? shortened(to_utf8(said), reason_bytes_max) : "unknown reason";
  }

  // Ignores warnings, which concern only names that the C locale cannot represent.
  static void check(int said, archive* a) {
    if (said < ARCHIVE_WARN) throw unpack_error("the archive cannot be unpacked: " + reason(a));
  }

  fs::path const to_;
  tree_limits const& limits_;
  unpacked_tree made_{};
  std::unique_ptr<archive, decltype(&archive_read_free)> const from_{archive_read_new(),
                                                                     archive_read_free};
  std::unique_ptr<archive, decltype(&archive_write_free)> const disk_{archive_write_disk_new(),
                                                                      archive_write_free};
};

}  // namespace

unpacked_tree unpack(fs::path const& archive, fs::path const& to, tree_limits const& limits) {
  try {
    return unpacker(to, limits).run(archive);
  } catch (fs::filesystem_error const& e) {
    throw unpack_error(e.what());
  }
}

}  // namespace muster
