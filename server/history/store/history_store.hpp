// What the listeners have seen, on disk, so that the next process and whoever looks at a dead one
// can show it. Nothing is decided by it and nobody waits for it: what it cannot take or read is
// dropped and counted, and a directory that cannot be read is put aside. In a RocksDB whose oldest
// files go by age and size; what the kernel has been given outlives `kill -9`, what it has not yet
// written is lost with the machine.
//
// Owned by the app. Written by a thread of its own, which any thread gives records; read before
// that runs, by one thread, and scanned at any time (past_reader).
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

/// Each is kept apart: none takes the room of another. A part of the whole, in history_store.cpp.
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
  core::time_point at{};  ///< of the newest that is in it
  std::string bytes;
};

/// Where a record stands among those of its kind.
struct history_place {
  core::time_point at{};
  std::uint32_t number = 0;
  auto operator<=>(history_place const&) const = default;
};

struct history_limits {
  /// On disk. Full: the oldest goes.
  std::uint64_t bytes_max = std::uint64_t{256} << 20;
  /// What is older goes, file by file.
  core::duration age = std::chrono::hours(7 * 24);
  /// Given and not written yet. Full: what comes then is dropped.
  std::size_t waiting_bytes_max = std::size_t{8} << 20;
  /// Of the disk, for those who need it more. Less is free: nothing is written.
  std::uint64_t reserve_bytes = std::uint64_t{128} << 20;
};

struct history_facts {
  std::uint64_t bytes = 0;  ///< on disk, looked at every ten seconds
  /// Records that are missing: they found no room, their write failed, or they cannot be read.
  std::uint64_t dropped = 0;
  /// Rows of records on disk that cannot be read, as far as somebody has tried.
  std::uint64_t unreadable = 0;
  core::time_point since{};  ///< the oldest that was there at the start; epoch: nothing was
};

/// In a data directory.
constexpr auto history_folder = "history";

class history_store {
 public:
  enum class access { write, read };
  /// Makes the directory for `write`. In one line with the path: FAILED_PRECONDITION, it cannot be
  /// opened, or another process writes it; NOT_FOUND, `read` and there is none.
  static muster::result<std::unique_ptr<history_store>> open(std::filesystem::path const& directory,
                                                             history_limits limits, access how);
  ~history_store();
  history_store(history_store const&) = delete;

  /// How many of the newest records, and how many bytes they have.
  struct amount {
    std::size_t records_max = ~std::size_t{0};
    std::size_t bytes_max = ~std::size_t{0};
  };
  /// Visits the newest records of a kind that are not older than `since`, oldest first. REQUIRES:
  /// `start` was not called.
  void read(history_kind kind, core::time_point since, amount most,
            std::function<void(history_place, std::string_view bytes)> const& v) const;
  /// Visits the records from that place on, oldest first, until `v` returns false. Any thread.
  void scan(history_kind kind, history_place from,
            std::function<bool(history_place, std::string_view bytes)> const& v) const;
  /// Returns what `decode`, a function of records.hpp, makes of a record that is visited, and
  /// counts the rows that it cannot read. Any thread.
  template <class Decode>
  auto decoded(history_kind kind, history_place at, std::string_view bytes,
               Decode const& decode) const {
    std::size_t rows = 0;
    auto made = decode(bytes, &rows);
    if (rows > 0) count_unreadable(kind, at, rows);
    return made;
  }
  /// When the newest of any kind was written; epoch: there is none. The same holds.
  core::time_point newest() const;

  /// From here on it may be given records. REQUIRES: opened for `write`.
  void start();
  // Any thread.
  void keep(history_record r);
  history_facts facts() const;
  /// Writes what waits. Nothing is taken then. Harmless when it was not started.
  void stop();

 private:
  history_store(std::filesystem::path directory, history_limits limits);
  muster::status open_files(access how);
  void close_files();
  bool may_write();
  void write(std::vector<history_record> all);
  core::time_point oldest() const;
  void count_unreadable(history_kind kind, history_place at, std::size_t rows) const;

  /// Records that are known to be unreadable, so that each counts once however often it is read.
  /// Full: further ones are not counted.
  static constexpr std::size_t unreadable_records_max = 10'000;

  std::filesystem::path const directory_;
  history_limits const limits_;
  // Exclusively held while the files are opened again.
  mutable std::shared_mutex files_mutex_;
  std::unique_ptr<rocksdb::DB> db_;                     // null: it could not be opened again yet
  std::vector<rocksdb::ColumnFamilyHandle*> families_;  // by kind; null: there is none
  std::atomic<std::size_t> waiting_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0, dropped_ = 0;
  mutable std::mutex unreadable_mutex_;
  mutable std::set<std::pair<history_kind, history_place>> unreadable_records_;
  mutable std::atomic<std::uint64_t> unreadable_ = 0;  // their rows
  core::time_point since_{};
  // Of its thread.
  std::uint32_t number_ = 0;  // of records, so that no two have one key
  std::chrono::steady_clock::time_point looked_{};
  bool write_failed_ = false;            // nothing is written before the files are opened again
  store_thread<history_record> thread_;  // last: it uses the others
};

}  // namespace muster::server
