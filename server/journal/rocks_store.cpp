#include "server/journal/rocks_store.hpp"

#include <rocksdb/write_batch.h>

#include <fstream>

#include "server/disk/open_file.hpp"
#include "server/disk/private_directory.hpp"
#include "server/disk/rocks_log.hpp"
#include "server/journal/log_format.hpp"
#include "server/journal/rocks.hpp"

namespace muster::server::journal {
namespace {

namespace fs = std::filesystem;

using rocks::refused;

muster::result<bool> is_fresh(fs::path const& directory) {
  if (int const e = make_private_directory(directory); e != 0)
    return refused(directory, "cannot be created: " + reason_of(e));
  std::error_code error;
  if (fs::exists(directory / "CURRENT", error)) return false;
  if (!fs::is_empty(directory, error) || error)
    return refused(
        directory,
        error ? "cannot be read: " + error.message()
              : "contains other files but no Muster server data; specify an empty directory");
  // Restricts the access before the directory contains data. This fails on a mounted volume with
  // another owner, which is reported elsewhere.
  (void)make_private(directory);
  return true;
}

// RocksDB treats a last record with a wrong length as torn and drops it, although the record may
// have been acknowledged as durable.
muster::status last_records_are_not_damaged(fs::path const& directory) {
  std::error_code error;
  for (auto const& f : fs::directory_iterator(directory, error)) {
    auto const name = f.path().filename().string();
    if (!name.ends_with(".log") && !name.starts_with("MANIFEST-")) continue;
    std::ifstream file(f.path(), std::ios::binary);
    auto const read = [&](char* into, std::size_t n) {
      file.read(into, static_cast<std::streamsize>(n));
      return static_cast<std::size_t>(file.gcount());
    };
    if (auto const end = walk_log(read, false); end.what == log_end::kind::damaged)
      return refused(directory, rocks::damaged(name, end.at));
  }
  return {};
}

muster::status without_room(fs::path const& directory) {
  return no_room(directory.string(), "its disk is full; free some space, then start again");
}

// Without space for its first files, RocksDB aborts the process. The probe file has no name, so
// that it disappears when it is closed.
muster::status has_room(fs::path const& directory) {
  constexpr std::size_t least = std::size_t{64} << 10;
  open_file probe(directory, O_WRONLY | O_TMPFILE);
  int error = errno;
  if (!probe && (error == EOPNOTSUPP || error == EISDIR)) {
    auto const named = directory / "probe.tmp";
    probe = open_file(named, O_WRONLY | O_CREAT);
    error = errno;
    if (probe) ::unlink(named.c_str());
  }
  int const e = probe ? probe.write(std::string(least, '\0')) : error;
  return is_full(e) ? without_room(directory) : muster::status{};
}

std::uint64_t bytes_of_files(fs::path const& directory, std::string_view ending) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (auto const& f : fs::directory_iterator(directory, error))
    if (f.path().native().ends_with(ending))
      if (auto const size = fs::file_size(f, error); !error) bytes += size;
  return bytes;
}

}  // namespace

rocks_store::rocks_store(fs::path directory) : directory_(std::move(directory)) {}

rocks_store::~rocks_store() {
  if (db_) (void)db_->Close();  // all writes are already durable
}

muster::result<std::unique_ptr<rocks_store>> rocks_store::open(fs::path const& directory) {
  auto const fresh = is_fresh(directory);
  if (!fresh) return fresh.error();
  if (auto const whole = last_records_are_not_damaged(directory); !whole.ok()) return whole;
  if (auto const room = has_room(directory); !room.ok()) return room;
  std::unique_ptr<rocks_store> store(new rocks_store(directory));
  if (auto const opened = store->open_files(*fresh); !opened.ok()) return opened;
  return store;
}

muster::status rocks_store::open_files(bool fresh) {
  auto options = rocks::options();
  options.create_if_missing = fresh;
  options.info_log = std::make_shared<rocks_log>(directory_, options.info_log_level);
  rocksdb::DB* db = nullptr;
  auto const opened = rocksdb::DB::Open(options, directory_.string(), &db);
  if (opened.IsNoSpace()) return without_room(directory_);
  if (opened.IsIOError() && rocks::is_locked(directory_))
    return refused(directory_, "another process has it open");
  if (!opened.ok()) return refused(directory_, rocks::explained(opened));
  db_.reset(db);
  return {};
}

muster::status rocks_store::write(std::vector<change> const& batch) {
  rocksdb::WriteBatch all;
  for (auto const& c : batch) {
    if (c.what == change::kind::put)
      all.Put(c.key, c.value);
    else if (c.what == change::kind::erase)
      all.Delete(c.key);
    else
      all.DeleteRange(c.key, behind(c.key));
  }
  if (auto const full = no_room_for(all.GetDataSize()); !full.ok()) return full;
  if (out_of_space_) {
    if (db_) (void)db_->Close();
    db_.reset();
    if (auto const again = open_files(false); !again.ok()) return again;
    out_of_space_ = false;
  }
  rocksdb::WriteOptions durable;
  durable.sync = true;
  auto const written = db_->Write(durable, &all);
  return written.ok() ? muster::status{} : classify_write_error(written);
}

// RocksDB 7.8 aborts the process when it continues with a file after running out of space. A write
// therefore also requires space for flushing the data in memory, and for small files.
muster::status rocks_store::no_room_for(std::size_t batch_bytes) const {
  constexpr std::uint64_t small_files = std::uint64_t{1} << 20;
  std::uint64_t in_memory = 0;
  if (out_of_space_)
    in_memory = bytes_of_files(directory_, ".log");
  else
    (void)db_->GetIntProperty(rocksdb::DB::Properties::kCurSizeAllMemTables, &in_memory);
  auto const free = bytes_free();
  auto const needed = in_memory + 2 * batch_bytes + small_files;
  if (!free || *free >= needed) return {};
  return no_room(directory_.string(), std::to_string(*free >> 20) +
                                          " MiB are free, and the next write needs " +
                                          std::to_string((needed >> 20) + 1) + " MiB");
}

// If space runs out, RocksDB would continue with a torn log; reopening drops the torn end. After a
// failed sync, it is unknown which data is lost. RocksDB 7.8 returns NoSpace in both cases, but
// with different texts: "While appending to file", or "While fsync" and "While fdatasync".
muster::status rocks_store::classify_write_error(rocksdb::Status const& s) {
  auto const text = s.ToString();
  out_of_space_ = s.IsNoSpace() && text.find("While f") == std::string::npos;
  if (out_of_space_) return {code::resource_exhausted, directory_.string() + ": " + text};
  return {code::internal, directory_.string() + ": " + text};
}

muster::status rocks_store::read(std::string_view prefix, visitor const& v) const {
  return rocks::read(*db_, prefix, v);
}

muster::status rocks_store::compact() {
  rocksdb::CompactRangeOptions all;
  all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  auto const done = db_->CompactRange(all, nullptr, nullptr);
  if (done.ok()) return {};
  return {code::internal, directory_.string() + ": " + rocks::explained(done)};
}

std::uint64_t rocks_store::bytes_on_disk() const {
  return bytes_of_files(directory_, {});
}

std::optional<std::uint64_t> rocks_store::bytes_free() const {
  std::error_code error;
  auto const space = fs::space(directory_, error);
  return error ? std::nullopt : std::optional<std::uint64_t>(space.available);
}

}  // namespace muster::server::journal
