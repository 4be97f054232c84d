// The files that one server keeps in a directory, for its user alone. Their names tell them from
// those of others, which are left alone; a lock keeps a second server out. One thread at a time.
// Errors are errno's numbers, 0: none, and statuses are those of disk_error. What the files are
// called stands here, too, for who copies them or must know them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "server/disk/open_file.hpp"

namespace muster::server {

/// Below --data-dir, or --spill-dir: one file for each blob, by its name.
constexpr auto blob_folder = "blobs";
/// Files of values in --spill-dir.
constexpr std::string_view value_files = "muster-values-";

/// A SHA-256: 64 hexadecimal digits in lower case.
inline bool is_blob_name(std::string_view name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

using names_and_sizes = std::vector<std::pair<std::string, std::uint64_t>>;

/// The files of a directory that are called so. INTERNAL.
muster::result<names_and_sizes> files_in(std::filesystem::path const& directory,
                                         bool (*is_own)(std::string_view name));

class own_files {
 public:
  struct habits {
    std::string_view what;  // is in them
    bool (*is_own)(std::string_view name);
    std::string_view lock = ".";  // a file, or the directory itself
    /// They outlive the process: they are on the disk before they have their names.
    bool durable = false;
  };
  /// One that is written, if it could be made; else errno says why. It goes with this, unless it
  /// was kept.
  struct unfinished {
    unfinished() = default;
    explicit unfinished(std::filesystem::path p)
        : path(std::move(p)), file(path, O_WRONLY | O_CREAT | O_TRUNC) {}
    unfinished(unfinished&&) = default;
    unfinished& operator=(unfinished&&) = default;
    ~unfinished() {
      if (file) ::unlink(path.c_str());
    }
    std::filesystem::path path;
    open_file file;
  };

  explicit own_files(habits h) : habits_(h) {}

  /// Makes the directory unless it is there, and takes it. INTERNAL, too: another server has it.
  muster::status open(std::filesystem::path directory);
  bool is_open() const { return static_cast<bool>(lock_); }
  std::filesystem::path const& directory() const { return directory_; }
  std::filesystem::path path_of(std::string_view name) const { return directory_ / name; }

  unfinished begin(std::string_view name) const { return unfinished(path_of(name)); }
  /// It gets its name, now that it is complete; whatever had that name goes.
  int keep(unfinished& u, std::string_view name) const;
  /// Fills `into` with what is there from `offset` on. EIO, too: the file is shorter.
  int read(std::string_view name, std::uint64_t offset, std::string& into) const;
  void remove(std::string_view name) const { ::unlink(path_of(name).c_str()); }

  muster::result<names_and_sizes> all() const { return files_in(directory_, habits_.is_own); }
  /// Removes them all, as far as that can be done.
  void clear() const;
  /// Lets go of the directory; with `and_remove` it goes, unless there is something in it.
  void close(bool and_remove = false);

 private:
  habits habits_;
  std::filesystem::path directory_;
  open_file lock_;
};

}  // namespace muster::server
