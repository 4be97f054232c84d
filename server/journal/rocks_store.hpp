// The store in a directory of its own, by RocksDB: `--data-dir`.
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
  /// Opens it, and makes it when the directory is empty or not there. FAILED_PRECONDITION, in one
  /// line with the path and what to do: another process has it, it is something else's, it cannot
  /// be read. RESOURCE_EXHAUSTED: its disk is full. A directory that is refused is left as it was.
  static muster::result<std::unique_ptr<rocks_store>> open(std::filesystem::path const& directory);
  ~rocks_store() override;

  muster::status write(std::vector<change> const& batch) override;
  muster::status read(std::string_view prefix, visitor const& v) const override;
  std::uint64_t bytes_on_disk() const override;
  std::optional<std::uint64_t> bytes_free() const override;
  /// Writes all of it anew without what was erased; takes as long as that takes.
  muster::status compact();

 private:
  explicit rocks_store(std::filesystem::path directory);
  muster::status open_files(bool fresh);
  muster::status no_room_for(std::size_t batch_bytes) const;
  muster::status no_room_or_failed(rocksdb::Status const& s);

  std::filesystem::path const directory_;
  std::unique_ptr<rocksdb::DB> db_;  // null: it could not be opened again yet
  bool had_no_room_ = false;  // a write failed for that: nothing is written before a reopening
};

}  // namespace muster::server::journal
