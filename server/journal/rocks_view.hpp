// A server's directory as it is at one moment, for people who look after it: only read, with or
// without a server that has it. Nothing in it is changed, no lock is taken. One thread at a time.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "server/journal/view.hpp"

namespace rocksdb {
class DB;
class Env;
}  // namespace rocksdb

namespace muster::server::journal {

/// The process that has it open, 0 when the system does not say which.
std::optional<int> user_of(std::filesystem::path const& directory);

class rocks_view final : public view {
 public:
  /// In one line with the path: FAILED_PRECONDITION, it is not a store's; INTERNAL, it is damaged
  /// or cannot be read, and where; UNAVAILABLE, its server changes it too fast.
  static muster::result<std::unique_ptr<rocks_view>> open(std::filesystem::path const& directory);
  ~rocks_view() override;

  muster::status read(std::string_view prefix, visitor const& v) const override;
  /// When it was opened; without RocksDB's notes to itself.
  std::uint64_t bytes_on_disk() const override { return bytes_; }

  std::string name() const override { return directory_.string(); }
  std::size_t files() const { return files_; }
  std::vector<std::string> const& notes() const override { return notes_; }
  /// Every byte of its tables against its checksums. INTERNAL names the file.
  muster::status verify() const override;

 private:
  rocks_view() = default;

  std::filesystem::path directory_;
  std::uint64_t bytes_ = 0;
  std::size_t files_ = 0;
  std::vector<std::string> notes_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;  // behind env_, which it uses
};

}  // namespace muster::server::journal
