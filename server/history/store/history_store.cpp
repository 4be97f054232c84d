#include "server/history/store/history_store.hpp"

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "server/disk/open_file.hpp"
#include "server/disk/private_directory.hpp"
#include "server/disk/rocks_log.hpp"

namespace muster::server {
namespace {

namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

struct part {
  char const* name;
  unsigned share;  // share of bytes_max, in 32nds
};
// Indexed by history_kind. Workers' activity needs the most space.
constexpr std::array<part, 8> parts{{{"events", 4},
                                     {"points", 2},
                                     {"machines", 4},
                                     {"spans", 10},
                                     {"lines", 6},
                                     {"runs", 1},
                                     {"jobs", 1},
                                     {"steps", 4}}};

constexpr auto size_check_interval = std::chrono::seconds(10);
// Files are small, so that deleting the oldest file removes few records.
constexpr std::uint64_t file_bytes_max = std::uint64_t{4} << 20, file_bytes_least = 64 << 10;

std::string big_endian(std::uint64_t n, int bytes) {
  std::string s;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) s += static_cast<char>(n >> shift);
  return s;
}

std::string key_of(core::time_point at, std::uint32_t number) {
  auto const us =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, at.time_since_epoch().count()));
  return big_endian(us, 8) + big_endian(number, 4);
}

core::time_point time_of(rocksdb::Slice const& key) {
  std::uint64_t us = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(8, key.size()); ++i)
    us = us << 8 | static_cast<unsigned char>(key[i]);
  return core::time_point(core::duration(static_cast<std::int64_t>(us)));
}

history_place place_of(rocksdb::Slice const& key) {
  std::uint32_t number = 0;
  for (std::size_t i = 8; i < std::min<std::size_t>(12, key.size()); ++i)
    number = number << 8 | static_cast<unsigned char>(key[i]);
  return {time_of(key), number};
}

rocksdb::DBOptions options_for(history_store::access how) {
  rocksdb::DBOptions o;
  o.create_if_missing = o.create_missing_column_families = how == history_store::access::write;
  // Each intact record is useful on its own.
  o.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  o.max_total_wal_size = 2 * file_bytes_max;
  o.keep_log_file_num = 1;
  o.info_log_level = rocksdb::ERROR_LEVEL;
  return o;
}

std::vector<rocksdb::ColumnFamilyDescriptor> families(history_limits const& limits) {
  std::vector<rocksdb::ColumnFamilyDescriptor> all{{rocksdb::kDefaultColumnFamilyName, {}}};
  for (auto const& p : parts) {
    rocksdb::ColumnFamilyOptions o;
    auto const most = std::max<std::uint64_t>(limits.bytes_max * p.share / 32, file_bytes_least);
    o.compaction_style = rocksdb::kCompactionStyleFIFO;
    o.compaction_options_fifo.max_table_files_size = most;
    o.ttl = static_cast<std::uint64_t>(std::max<std::int64_t>(
        1, std::chrono::duration_cast<std::chrono::seconds>(limits.age).count()));
    o.write_buffer_size = std::clamp(most / 8, file_bytes_least, file_bytes_max);
    all.emplace_back(p.name, o);
  }
  return all;
}

}  // namespace

history_store::history_store(fs::path directory, history_limits limits)
    : directory_(std::move(directory)), limits_(limits) {}

muster::result<std::unique_ptr<history_store>> history_store::open(fs::path const& directory,
                                                                   history_limits limits,
                                                                   access how) {
  std::error_code error;
  if (how == access::read && !fs::exists(directory / "CURRENT", error))
    return muster::status{code::not_found,
                          directory.string() + ": this directory does not contain a history"};
  if (int const e = how == access::write ? make_private_directory(directory) : 0; e != 0)
    return muster::status{code::failed_precondition,
                          directory.string() + ": cannot be created: " + reason_of(e)};
  std::unique_ptr<history_store> a(new history_store(directory, limits));
  if (auto const opened = a->open_files(how); !opened.ok()) return opened;
  a->since_ = a->oldest();
  return a;
}

muster::status history_store::open_files(access how) {
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  auto options = options_for(how);
  if (how == access::write)
    options.info_log = std::make_shared<rocks_log>(directory_, options.info_log_level);
  auto all = families(limits_);
  // The store of an older server can contain fewer kinds.
  std::vector<std::string> known;
  if (how == access::read &&
      rocksdb::DB::ListColumnFamilies(options, directory_.string(), &known).ok())
    std::erase_if(all, [&known](auto const& f) {
      return std::find(known.begin(), known.end(), f.name) == known.end();
    });
  auto const opened =
      how == access::write
          ? rocksdb::DB::Open(options, directory_.string(), all, &handles, &db)
          : rocksdb::DB::OpenForReadOnly(options, directory_.string(), all, &handles, &db);
  if (!opened.ok())
    return {code::failed_precondition, directory_.string() + ": " + opened.ToString()};
  db_.reset(db);
  db->DestroyColumnFamilyHandle(handles.front());  // the default family is unused
  families_.resize(parts.size());
  for (std::size_t i = 1; i < handles.size(); ++i)
    for (std::size_t kind = 0; kind < parts.size(); ++kind)
      if (handles[i]->GetName() == parts[kind].name) families_[kind] = handles[i];
  return {};
}

void history_store::close_files() {
  if (!db_) return;
  for (auto*& f : families_)
    if (auto* const one = std::exchange(f, nullptr)) db_->DestroyColumnFamilyHandle(one);
  (void)db_->Close();
  db_.reset();
}

history_store::~history_store() {
  stop();
  close_files();
}

void history_store::read(history_kind kind, core::time_point since, amount most,
                         std::function<void(history_place, std::string_view)> const& v) const {
  std::shared_lock const open(files_mutex_);
  auto* const family = families_[static_cast<std::size_t>(kind)];
  if (!family) return;
  rocksdb::ReadOptions once;
  once.fill_cache = false;
  std::unique_ptr<rocksdb::Iterator> const it(db_->NewIterator(once, family));
  std::size_t n = 0, bytes = 0;
  it->SeekToLast();
  for (; it->Valid() && n < most.records_max && time_of(it->key()) >= since; it->Prev()) {
    bytes += it->value().size();
    if (bytes > most.bytes_max) break;
    ++n;
  }
  if (it->Valid())
    it->Next();
  else
    it->SeekToFirst();
  history_place last{since, 0};
  for (; it->Valid() && n > 0; it->Next(), --n) {
    last = place_of(it->key());
    v(last, it->value().ToStringView());
  }
  if (!it->status().ok())
    count_unreadable(kind, last, 1);  // counts the rest of the file as one record
}

void history_store::scan(history_kind kind, history_place from,
                         std::function<bool(history_place, std::string_view)> const& v) const {
  std::shared_lock const open(files_mutex_);
  auto* const family = families_[static_cast<std::size_t>(kind)];
  if (!family) return;
  rocksdb::ReadOptions once;
  once.fill_cache = false;
  std::unique_ptr<rocksdb::Iterator> const it(db_->NewIterator(once, family));
  auto last = from;
  for (it->Seek(key_of(from.at, from.number)); it->Valid(); it->Next()) {
    last = place_of(it->key());
    if (!v(last, it->value().ToStringView())) return;
  }
  if (!it->status().ok())
    count_unreadable(kind, last, 1);  // counts the rest of the file as one record
}

void history_store::count_unreadable(history_kind kind, history_place at, std::size_t rows) const {
  std::lock_guard const lock(unreadable_mutex_);
  if (unreadable_records_.size() < unreadable_records_max &&
      unreadable_records_.emplace(kind, at).second)
    unreadable_ += rows;
}

core::time_point history_store::newest() const {
  core::time_point last{};
  for (auto* const f : families_) {
    if (!f) continue;
    std::unique_ptr<rocksdb::Iterator> const it(db_->NewIterator({}, f));
    it->SeekToLast();
    if (it->Valid()) last = std::max(last, time_of(it->key()));
  }
  return last;
}

core::time_point history_store::oldest() const {
  core::time_point first = core::never;
  for (auto* const f : families_) {
    if (!f) continue;
    std::unique_ptr<rocksdb::Iterator> const it(db_->NewIterator({}, f));
    it->SeekToFirst();
    if (it->Valid()) first = std::min(first, time_of(it->key()));
  }
  return first == core::never ? core::time_point{} : first;
}

void history_store::start() {
  thread_.start([this](std::vector<history_record> all) { write(std::move(all)); });
}

void history_store::keep(history_record r) {
  auto const size = r.bytes.size();
  if (waiting_.fetch_add(size) + size > limits_.waiting_bytes_max) {
    waiting_ -= size;
    ++dropped_;
    return;
  }
  std::vector<history_record> one;
  one.push_back(std::move(r));
  if (!thread_.ask(std::move(one))) waiting_ -= size;
}

// RocksDB 7.8 aborts the process if it continues with the same file after a failed write. The files
// are therefore reopened first.
bool history_store::may_write() {
  std::error_code error;
  auto const disk = fs::space(directory_, error);
  if (!error && disk.available < limits_.reserve_bytes) return false;
  if (write_failed_) {
    std::lock_guard const alone(files_mutex_);
    close_files();
    write_failed_ = !open_files(access::write).ok();
  }
  return !write_failed_;
}

// A failed write is not repeated, because newer records follow.
void history_store::write(std::vector<history_record> all) {
  if (auto const now = steady::now(); now - last_size_check_ >= size_check_interval && db_) {
    last_size_check_ = now;
    std::uint64_t bytes = 0;
    for (auto* const f : families_) {
      std::uint64_t of_it = 0;
      if (f && db_->GetIntProperty(f, rocksdb::DB::Properties::kTotalSstFilesSize, &of_it))
        bytes += of_it;
    }
    bytes_ = bytes;
  }
  // RocksDB never splits a batch. A large batch would make a large file, which can only be deleted
  // as a whole.
  std::size_t bytes = 0;
  rocksdb::WriteBatch batch;
  std::size_t of_batch = 0;
  bool has_room = may_write();
  auto const flush = [&] {
    if (has_room && of_batch > 0 && !db_->Write({}, &batch).ok()) {
      write_failed_ = true;
      has_room = false;
      dropped_ += of_batch;
    }
    batch.Clear();
    of_batch = 0;
  };
  for (auto const& r : all) {
    bytes += r.bytes.size();
    if (!has_room) {
      ++dropped_;
      continue;
    }
    batch.Put(families_[static_cast<std::size_t>(r.kind)], key_of(r.at, ++number_), r.bytes);
    if (++of_batch; batch.GetDataSize() >= file_bytes_least) flush();
  }
  flush();
  waiting_ -= bytes;
}

history_facts history_store::facts() const {
  return {bytes_, dropped_ + unreadable_, unreadable_, since_};
}

void history_store::stop() {
  thread_.stop(true);
}

}  // namespace muster::server
