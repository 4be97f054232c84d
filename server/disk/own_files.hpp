// Files that one server stores in a directory, accessible only to its user. Files with other names
// are ignored. A lock prevents a second server from using the directory. Integer results are errno
// values, where 0 means success; a `status` is the result of disk_error. Not thread-safe.
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

/// Folder below --data-dir or --spill-dir that contains one file per blob, named after the blob.
constexpr auto blob_folder = "blobs";
/// Prefix of value files in --spill-dir.
constexpr std::string_view value_files = "muster-values-";

/// Returns whether the name is a SHA-256 in lower-case hexadecimal digits.
inline bool is_blob_name(std::string_view name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

using names_and_sizes = std::vector<std::pair<std::string, std::uint64_t>>;

/// Returns the files whose names satisfy `is_own`, or INTERNAL if the directory cannot be read.
muster::result<names_and_sizes> files_in(std::filesystem::path const& directory,
                                         bool (*is_own)(std::string_view name));

class own_files {
 public:
  struct habits {
    std::string_view what;  // description of the contents, for messages
    bool (*is_own)(std::string_view name);
    std::string_view lock = ".";  // file to lock; "." locks the directory itself
    /// Whether the files must survive a crash. Durable files are flushed to disk before they are
    /// renamed.
    bool durable = false;
  };
  /// A file that is being written. If the file could not be created, the object is false and errno
  /// is set. The destructor deletes the file unless it was passed to `keep`.
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

  /// Creates the directory if necessary and locks it. Returns INTERNAL also if another server has
  /// locked the directory.
  muster::status open(std::filesystem::path directory);
  bool is_open() const { return static_cast<bool>(lock_); }
  std::filesystem::path const& directory() const { return directory_; }
  std::filesystem::path path_of(std::string_view name) const { return directory_ / name; }

  unfinished begin(std::string_view name) const { return unfinished(path_of(name)); }
  /// Renames a complete file to `name`, and replaces an existing file with this name.
  int keep(unfinished& u, std::string_view name) const;
  /// Fills `into` from `offset` on. Returns EIO also if the file is too short.
  int read(std::string_view name, std::uint64_t offset, std::string& into) const;
  void remove(std::string_view name) const { ::unlink(path_of(name).c_str()); }

  muster::result<names_and_sizes> all() const { return files_in(directory_, habits_.is_own); }
  /// Ignores errors.
  void clear() const;
  /// Unlocks the directory.
  /// @param and_remove whether to remove the directory if it is empty
  void close(bool and_remove = false);

 private:
  habits habits_;
  std::filesystem::path directory_;
  open_file lock_;
};

}  // namespace muster::server
