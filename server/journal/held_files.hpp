// Consistent snapshot of the files of a RocksDB directory, for readers that run in parallel with
// the server. Open files remain readable after RocksDB deletes them. Many threads can read.
#pragma once

#include <rocksdb/file_system.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "base/status.hpp"
#include "server/disk/open_file.hpp"

namespace muster::server::journal {

class held_file {
 public:
  held_file(open_file f, std::uint64_t size) : file_(std::move(f)), size_(size) {}

  std::uint64_t size() const { return size_; }
  /// Returns fewer than `n` bytes only at the end of the file, or -1 with errno set.
  std::int64_t read(std::uint64_t at, char* into, std::size_t n) const {
    return file_.read(at, into, at < size_ ? std::min<std::uint64_t>(n, size_ - at) : 0);
  }

 private:
  open_file const file_;
  std::uint64_t const size_;
};

class held_files final : public rocksdb::FileSystemWrapper {
 public:
  using table = std::map<std::string, std::shared_ptr<held_file const>>;

  /// @param meanwhile for tests; runs before the open files are verified to be consistent
  /// @return INTERNAL if a file cannot be opened, UNAVAILABLE if the files change too fast for a
  /// consistent snapshot
  static muster::result<std::shared_ptr<held_files>> of(
      std::filesystem::path const& directory, std::function<void()> const& meanwhile = {});

  explicit held_files(table files)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), files_(std::move(files)) {}
  table const& files() const { return files_; }

  char const* Name() const override { return "held_files"; }
  rocksdb::IOStatus NewSequentialFile(std::string const& name, rocksdb::FileOptions const& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* made,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(std::string const& name,
                                        rocksdb::FileOptions const& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* made,
                                        rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus FileExists(std::string const& name, rocksdb::IOOptions const& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetChildren(std::string const& directory, rocksdb::IOOptions const& options,
                                std::vector<std::string>* names,
                                rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus GetFileSize(std::string const& name, rocksdb::IOOptions const& options,
                                std::uint64_t* size, rocksdb::IODebugContext* debug) override;

  rocksdb::IOStatus NewWritableFile(std::string const& name, rocksdb::FileOptions const& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* made,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDir(std::string const& name, rocksdb::IOOptions const& options,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDirIfMissing(std::string const& name, rocksdb::IOOptions const& options,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(std::string const& name, rocksdb::IOOptions const& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(std::string const& from, std::string const& to,
                               rocksdb::IOOptions const& options,
                               rocksdb::IODebugContext* debug) override;

 private:
  std::shared_ptr<held_file const> find(std::string const& name) const;

  table const files_;
};

}  // namespace muster::server::journal
