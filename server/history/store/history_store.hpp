// The history on disk, for the next server process and for tools: a RocksDB whose oldest files are
// deleted by age and size. No decision depends on the history, and no request waits for a write.
// Records that are unreadable or do not fit are dropped and counted. An unreadable directory is
// moved aside. Written records survive `kill -9`, but the newest records can be lost if the machine
// crashes.
//
// Owned by the app. Any thread can add records; the store's own thread writes them. One thread can
// call `read` before `start`; `scan` can be called at any time.
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
  core::time_point at{};  ///< time of the record's newest entry
  std::string bytes;
};

struct history_place {
  core::time_point at{};
  std::uint32_t number = 0;
  auto operator<=>(history_place const&) const = default;
};

struct history_limits {
  /// Maximum size on disk. At the limit, the oldest records are deleted.
  std::uint64_t bytes_max = std::uint64_t{256} << 20;
  /// Maximum age. Files that contain only older records are deleted.
  core::duration age = std::chrono::hours(7 * 24);
  /// Maximum size of records that wait to be written. At the limit, new records are dropped.
  std::size_t waiting_bytes_max = std::size_t{8} << 20;
  /// Minimum free disk space. Below this limit, nothing is written.
  std::uint64_t reserve_bytes = std::uint64_t{128} << 20;
};

struct history_facts {
  std::uint64_t bytes = 0;  ///< size on disk, updated every ten seconds
  /// Records that did not fit, could not be written or were unreadable.
  std::uint64_t dropped = 0;
  std::uint64_t unreadable = 0;
  /// Time of the oldest record at startup, or the epoch if there were no records.
  core::time_point since{};
};

constexpr auto history_folder = "history";

class history_store {
 public:
  enum class access { write, read };
  /// Opens the store. `write` creates the directory if necessary.
  /// @return FAILED_PRECONDITION if the store cannot be opened or another process writes to it;
  ///   NOT_FOUND for `read` if there is no store. The message is one line and contains the path.
  static muster::result<std::unique_ptr<history_store>> open(std::filesystem::path const& directory,
                                                             history_limits limits, access how);
  ~history_store();
  history_store(history_store const&) = delete;

  struct amount {
    std::size_t records_max = ~std::size_t{0};
    std::size_t bytes_max = ~std::size_t{0};
  };
  /// Visits a kind's newest records, except records older than `since`, oldest first.
  /// @pre `start` has not been called.
  void read(history_kind kind, core::time_point since, amount most,
            std::function<void(history_place, std::string_view bytes)> const& v) const;
  /// Visits records from a position, oldest first, until `v` returns false. Thread-safe.
  void scan(history_kind kind, history_place from,
            std::function<bool(history_place, std::string_view bytes)> const& v) const;
  /// Decodes a visited record with a function of records.hpp, and counts unreadable rows.
  /// Thread-safe.
  template <class Decode>
  auto decoded(history_kind kind, history_place at, std::string_view bytes,
               Decode const& decode) const {
    std::size_t rows = 0;
    auto made = decode(bytes, &rows);
    if (rows > 0) count_unreadable(kind, at, rows);
    return made;
  }
  /// Returns the time of the newest record of any kind, or the epoch if there are no records.
  /// Thread-safe.
  core::time_point newest() const;

  /// Starts the thread that writes records.
  /// @pre The store was opened for `write`.
  void start();
  // The following functions are thread-safe.
  void keep(history_record r);
  history_facts facts() const;
  /// Writes the remaining records and rejects new records. Has no effect if the store was not
  /// started.
  void stop();

 private:
  history_store(std::filesystem::path directory, history_limits limits);
  muster::status open_files(access how);
  void close_files();
  bool may_write();
  void write(std::vector<history_record> all);
  core::time_point oldest() const;
  void count_unreadable(history_kind kind, history_place at, std::size_t rows) const;

  /// Maximum number of records that are remembered as unreadable, so that each record is counted
  /// only once. Further records are not counted.
  static constexpr std::size_t unreadable_records_max = 10'000;

  std::filesystem::path const directory_;
  history_limits const limits_;
  // Locked exclusively while the files are being reopened.
  mutable std::shared_mutex files_mutex_;
  std::unique_ptr<rocksdb::DB> db_;  // null after reopening has failed
  std::vector<rocksdb::ColumnFamilyHandle*>
      families_;  // indexed by kind; null if the store has no records of the kind
  std::atomic<std::size_t> waiting_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0, dropped_ = 0;
  mutable std::mutex unreadable_mutex_;
  mutable std::set<std::pair<history_kind, history_place>> unreadable_records_;
  mutable std::atomic<std::uint64_t> unreadable_ = 0;
  core::time_point since_{};
  // Members that only the writing thread uses.
  std::uint32_t number_ = 0;  // makes record keys unique
  std::chrono::steady_clock::time_point last_size_check_{};
  bool write_failed_ = false;            // nothing is written until the files have been reopened
  store_thread<history_record> thread_;  // last member, because it uses the other members
};

}  // namespace muster::server
