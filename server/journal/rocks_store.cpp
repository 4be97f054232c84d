#include "server/journal/rocks_store.hpp"

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <system_error>

namespace muster::server::journal {
namespace {

namespace fs = std::filesystem;

rocksdb::Options options(bool fresh) {
  rocksdb::Options o;
  o.create_if_missing = fresh;
  o.paranoid_checks = true;
  // A torn last write is what a killed server leaves; anything else in the log is corruption.
  o.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  o.write_buffer_size = std::size_t{32} << 20;
  o.max_total_wal_size = std::size_t{128} << 20;
  o.max_open_files = 128;
  o.keep_log_file_num = 2;
  o.max_log_file_size = std::size_t{1} << 20;
  o.info_log_level = rocksdb::WARN_LEVEL;
  return o;
}

muster::status refused(fs::path const& directory, std::string const& why) {
  return {code::failed_precondition, directory.string() + ": " + why};
}

// Before anything is touched: whether it is there, and ours to open.
muster::result<bool> is_fresh(fs::path const& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return refused(directory, "cannot be made: " + error.message());
  if (fs::exists(directory / "CURRENT", error)) return false;
  if (!fs::is_empty(directory, error) || error)
    return refused(directory, error ? "cannot be read: " + error.message()
                                    : "holds other files and no data of a server; name an empty "
                                      "directory");
  return true;
}

std::string explained(rocksdb::Status const& s) {
  auto const text = s.ToString();
  if (text.find("lock") != std::string::npos || text.find("LOCK") != std::string::npos)
    return "another process has it open";
  if (s.IsCorruption())
    return "its data are damaged (" + text + "); restore a backup into another directory";
  return text;
}

// Keys that begin so end before this; empty: at no key.
std::string behind(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

}  // namespace

rocks_store::rocks_store(std::unique_ptr<rocksdb::DB> db) : db_(std::move(db)) {}

rocks_store::~rocks_store() {
  (void)db_->Close();  // what was written is durable already
}

muster::result<std::unique_ptr<rocks_store>> rocks_store::open(fs::path const& directory) {
  auto const fresh = is_fresh(directory);
  if (!fresh) return fresh.error();
  rocksdb::DB* db = nullptr;
  auto const opened = rocksdb::DB::Open(options(*fresh), directory.string(), &db);
  if (!opened.ok()) return refused(directory, explained(opened));
  return std::unique_ptr<rocks_store>(new rocks_store(std::unique_ptr<rocksdb::DB>(db)));
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
  rocksdb::WriteOptions durable;
  durable.sync = true;
  auto const written = db_->Write(durable, &all);
  if (written.ok()) return {};
  return {code::internal, db_->GetName() + ": " + written.ToString()};
}

muster::status rocks_store::read(std::string_view prefix, visitor const& v) const {
  std::unique_ptr<rocksdb::Iterator> const it(db_->NewIterator({}));
  for (it->Seek({prefix.data(), prefix.size()}); it->Valid(); it->Next()) {
    auto const key = it->key().ToStringView();
    if (!key.starts_with(prefix)) break;
    if (!v(key, it->value().ToStringView())) return {};
  }
  if (it->status().ok()) return {};
  return {code::internal, db_->GetName() + ": " + explained(it->status())};
}

std::uint64_t rocks_store::bytes_on_disk() const {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (auto const& f : fs::directory_iterator(db_->GetName(), error))
    if (auto const size = fs::file_size(f, error); !error) bytes += size;
  return bytes;
}

}  // namespace muster::server::journal
