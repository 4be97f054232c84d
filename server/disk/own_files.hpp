// The files that one server keeps in a directory, accessible only to its user. They are recognised
// by name, and other files are left alone. A lock keeps a second server out. Errors are errno
// values (0: success); statuses are those of disk_error. Names are defined here for all code that
// copies or recognises the files. Not thread-safe.
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

/// Folder below --data-dir or --spill-dir with one file for each blob, named after the blob.
constexpr auto blob_folder = "blobs";
/// Prefix of files with values in --spill-dir.
constexpr std::string_view value_files = "muster-values-";

/// Returns whether the name is a SHA-256: 64 lower-case hexadecimal digits.
inline bool is_blob_name(std::string_view name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

using names_and_sizes = std::vector<std::pair<std::string, std::uint64_t>>;

/// Returns the directory's files whose names satisfy `is_own`; INTERNAL if it cannot be read.
muster::result<names_and_sizes> files_in(std::filesystem::path const& directory,
                                         bool (*is_own)(std::string_view name));

class own_files {
 public:
  struct habits {
    std::string_view what;  // their contents, for messages
    bool (*is_own)(std::string_view name);
    std::string_view lock = ".";  // file to lock, or the directory itself
    /// Whether the files must survive a crash: they are flushed to disk before they get their
    /// names.
    bool durable = false;
  };
  /// A file that is being written. It is false, with errno set, if it could not be created. The
  /// destructor deletes the file unless it was passed to `keep`.
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

  /// Creates the directory if necessary and locks it. INTERNAL also if another server holds the
  /// lock.
  muster::status open(std::filesystem::path directory);
  bool is_open() const { return static_cast<bool>(lock_); }
  std::filesystem::path const& directory() const { return directory_; }
  std::filesystem::path path_of(std::string_view name) const { return directory_ / name; }

  unfinished begin(std::string_view name) const { return unfinished(path_of(name)); }
  /// Renames a complete file to its final name, replacing any file of that name.
  int keep(unfinished& u, std::string_view name) const;
  /// Fills `into` from `offset` on. Returns EIO also if the file is too short.
  int read(std::string_view name, std::uint64_t offset, std::string& into) const;
  void remove(std::string_view name) const { ::unlink(path_of(name).c_str()); }

  muster::result<names_and_sizes> all() const { return files_in(directory_, habits_.is_own); }
  /// Removes all own files, ignoring errors.
  void clear() const;
  /// Unlocks the directory.
  /// @param and_remove whether to remove it if it is empty.
  void close(bool and_remove = false);

 private:
  habits habits_;
  std::filesystem::path directory_;
  open_file lock_;
};

}  // namespace muster::server
