// The history on disk, for the next process and for tools. No decision depends on it, and no
// request waits for it. Unreadable records, and those without space, are dropped and counted. An
// unreadable directory is moved aside. A RocksDB whose oldest files are deleted by age and size.
// Writes survive `kill -9`, but the latest can be lost when the machine crashes.
//
// Owned by the app. Any thread can add records, which a thread of its own writes. `read` is called
// by one thread before `start`; scans are possible at any time (history_reader).
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "server/core/api/time.hpp"
#include "server/disk/store_thread.hpp"

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
}  // namespace rocksdb

namespace muster::server {

/// Each kind has its own share of the space; see history_store.cpp.
enum class history_kind : std::uint8_t {
  events,
  points,
  machines,
  spans,
  lines,
  runs,
  jobs,
  steps
};

struct history_record {
  history_kind kind{};
  core::time_point at{};  ///< time of the newest entry in it
  std::string bytes;
};

struct history_place {
  core::time_point at{};
  std::uint32_t number = 0;
  auto operator<=>(history_place const&) const = default;
};

struct history_limits {
  /// Size on disk. Beyond it, the oldest records are deleted.
  std::uint64_t bytes_max = std::uint64_t{256} << 20;
  /// Maximum age. Older records are deleted file by file.
  core::duration age = std::chrono::hours(7 * 24);
  /// Size of records that wait to be written. Beyond it, new records are dropped.
  std::size_t waiting_bytes_max = std::size_t{8} << 20;
  /// Minimum free disk space. Below it, nothing is written.
  std::uint64_t reserve_bytes = std::uint64_t{128} << 20;
};

struct history_facts {
  std::uint64_t bytes = 0;  ///< size on disk, updated every ten seconds
  /// Records without space, with a failed write, or unreadable.
  std::uint64_t dropped = 0;
  /// Unreadable rows, among those that were read.
  std::uint64_t unreadable = 0;
  core::time_point since{};  ///< oldest record at the start; epoch: none
};

constexpr auto history_folder = "history";

class history_store {
 public:
  enum class access { write, read };
  /// Opens the store; `write` creates the directory.
  /// @return In one line with the path: FAILED_PRECONDITION (it cannot be opened, or another
  /// process writes it), NOT_FOUND (`read`, and there is none).
  static muster::result<std::unique_ptr<history_store>> open(std::filesystem::path const& directory,
                                                             history_limits limits, access how);
  ~history_store();
  history_store(history_store const&) = delete;

  struct amount {
    std::size_t records_max = ~std::size_t{0};
    std::size_t bytes_max = ~std::size_t{0};
  };
  /// Visits the newest records of a kind that are not older than `since`, oldest first.
  /// @pre `start` was not called.
  void read(history_kind kind, core::time_point since, amount most,
            std::function<void(history_place, std::string_view bytes)> const& v) const;
  /// Visits records from a position, oldest first, until `v` returns false. Any thread.
  void scan(history_kind kind, history_place from,
            std::function<bool(history_place, std::string_view bytes)> const& v) const;
  /// Decodes a visited record with `decode`, a function of records.hpp, and counts unreadable rows.
  /// Any thread.
  template <class Decode>
  auto decoded(history_kind kind, history_place at, std::string_view bytes,
               Decode const& decode) const {
    std::size_t rows = 0;
    auto made = decode(bytes, &rows);
    if (rows > 0) count_unreadable(kind, at, rows);
    return made;
  }
  /// Returns when the newest record of any kind was written, or the epoch. Any thread.
  core::time_point newest() const;

  /// Starts the thread that writes records.
  /// @pre Opened for `write`.
  void start();
  // The following functions can be called on any thread.
  void keep(history_record r);
  history_facts facts() const;
  /// Writes the remaining records and rejects new ones. Harmless if it was not started.
  void stop();

 private:
  history_store(std::filesystem::path directory, history_limits limits);
  muster::status open_files(access how);
  void close_files();
  bool may_write();
  void write(std::vector<history_record> all);
  core::time_point oldest() const;
  void count_unreadable(history_kind kind, history_place at, std::size_t rows) const;

  /// Known unreadable records, so that each is counted once. Beyond it, further ones are not
  /// counted.
  static constexpr std::size_t unreadable_records_max = 10'000;

  std::filesystem::path const directory_;
  history_limits const limits_;
  // Locked exclusively while the files are reopened.
  mutable std::shared_mutex files_mutex_;
  std::unique_ptr<rocksdb::DB> db_;                     // null while a reopening has failed
  std::vector<rocksdb::ColumnFamilyHandle*> families_;  // by kind; null: none
  std::atomic<std::size_t> waiting_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0, dropped_ = 0;
  mutable std::mutex unreadable_mutex_;
  mutable std::set<std::pair<history_kind, history_place>> unreadable_records_;
  mutable std::atomic<std::uint64_t> unreadable_ = 0;
  core::time_point since_{};
  // Used only by the writing thread.
  std::uint32_t number_ = 0;  // makes the keys of records unique
  std::chrono::steady_clock::time_point last_size_check_{};
  bool write_failed_ = false;            // nothing is written until the files are reopened
  store_thread<history_record> thread_;  // last member, because it uses the others
};

}  // namespace muster::server
