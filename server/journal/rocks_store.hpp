// Store in a local directory, using RocksDB (`--data-dir`).
#pragma once

#include <filesystem>
#include <memory>

#include "server/journal/store.hpp"

namespace rocksdb {
class DB;
class Status;
}  // namespace rocksdb

namespace muster::server::journal {

class rocks_store final : public store {
 public:
  /// Opens the directory, or creates it if it is empty or absent. A rejected directory is
  /// unchanged.
  /// @return FAILED_PRECONDITION, in one line with the path and the remedy, if the directory is in
  ///   use, is unreadable, or contains other files; RESOURCE_EXHAUSTED if the disk is full
  static muster::result<std::unique_ptr<rocks_store>> open(std::filesystem::path const& directory);
  ~rocks_store() override;

  muster::status write(std::vector<change> const& batch) override;
  muster::status read(std::string_view prefix, visitor const& v) const override;
  std::uint64_t bytes_on_disk() const override;
  std::optional<std::uint64_t> bytes_free() const override;
  /// Removes erased entries from the files. Blocks until done.
  muster::status compact();

 private:
  explicit rocks_store(std::filesystem::path directory);
  muster::status open_files(bool fresh);
  muster::status no_room_for(std::size_t batch_bytes) const;
  muster::status classify_write_error(rocksdb::Status const& s);

  std::filesystem::path const directory_;
  std::unique_ptr<rocksdb::DB> db_;  // null after reopening has failed
  bool out_of_space_ = false;        // whether to reopen before the next write
};

}  // namespace muster::server::journal
