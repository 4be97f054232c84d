// The files that one server keeps in a directory, for its user alone. Their names tell them from
// those of others, which are left alone; a lock keeps a second server out. One thread at a time.
// Errors are errno's numbers, 0: none, and statuses are those of disk_error.
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

class own_files {
 public:
  struct habits {
    std::string_view what;  // is in them
    bool (*is_own)(std::string_view name);
    std::string_view lock = ".";  // a file, or the directory itself
    /// They outlive the process: they are on the disk before they have their names.
    bool durable = false;
  };
  /// One that is written. It goes with this, unless it was kept; false: it could not be made.
  class unfinished {
   public:
    unfinished() = default;
    explicit unfinished(std::filesystem::path path)
        : path_(std::move(path)), file_(path_, O_WRONLY | O_CREAT | O_TRUNC), error_(errno) {}
    unfinished(unfinished&&) = default;
    unfinished& operator=(unfinished&&) = default;
    ~unfinished() {
      if (file_) ::unlink(path_.c_str());
    }
    explicit operator bool() const { return static_cast<bool>(file_); }
    std::filesystem::path const& path() const { return path_; }
    int write(std::string_view bytes) const { return file_ ? file_.write(bytes) : error_; }

   private:
    friend own_files;
    std::filesystem::path path_;
    open_file file_;
    int error_ = EBADF;
  };

  explicit own_files(habits h) : habits_(h) {}

  /// Makes the directory unless it is there, and takes it. INTERNAL, too: another server has it.
  muster::status open(std::filesystem::path directory);
  bool is_open() const { return static_cast<bool>(lock_); }
  std::filesystem::path const& directory() const { return directory_; }
  std::filesystem::path path_of(std::string_view name) const { return directory_ / name; }

  unfinished begin(std::string_view name) const { return unfinished(path_of(name)); }
  /// It gets its name, now that it is complete; whatever had that name goes.
  int keep(unfinished& file, std::string_view name) const;
  /// Fills `into` with what is there from `offset` on. EIO, too: the file is shorter.
  int read(std::string_view name, std::uint64_t offset, std::string& into) const;
  void remove(std::string_view name) const { ::unlink(path_of(name).c_str()); }

  /// Names and sizes. INTERNAL.
  muster::result<std::vector<std::pair<std::string, std::uint64_t>>> all() const;
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
