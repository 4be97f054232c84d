// Read-only snapshot of a server's directory for maintenance tools, with or without a running
// server. Takes no lock. Used by one thread at a time.
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

/// Returns the process that has the directory open; 0 if the process is unknown.
std::optional<int> user_of(std::filesystem::path const& directory);

class rocks_view final : public view {
 public:
  /// Opens a snapshot.
  /// @return FAILED_PRECONDITION if this is not a store, INTERNAL with the position if the store is
  ///   damaged or unreadable, UNAVAILABLE if the server changes the files too fast. The message is
  ///   one line and contains the path.
  static muster::result<std::unique_ptr<rocks_view>> open(std::filesystem::path const& directory);
  ~rocks_view() override;

  muster::status read(std::string_view prefix, visitor const& v) const override;
  /// Returns the size at opening, without RocksDB's info logs.
  std::uint64_t bytes_on_disk() const override { return bytes_; }

  std::string name() const override { return directory_.string(); }
  std::size_t files() const { return files_; }
  std::vector<std::string> const& notes() const override { return notes_; }
  muster::status verify() const override;

 private:
  rocks_view() = default;

  std::filesystem::path directory_;
  std::uint64_t bytes_ = 0;
  std::size_t files_ = 0;
  std::vector<std::string> notes_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;  // declared after env_, which it uses
};

}  // namespace muster::server::journal
