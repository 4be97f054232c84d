#include "server/journal/rocks.hpp"

#include <rocksdb/env.h>
#include <rocksdb/file_checksum.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <unistd.h>

namespace muster::server::journal::rocks {
namespace {

constexpr std::size_t job_prefix_length = 19;  // length of `e\0`, sixteen digits and `\0`

// Groups closure entries by job. An erased range must never start with such a prefix: RocksDB 7.8
// would confuse the insert hints of two tables and corrupt both.
class job_of_closure final : public rocksdb::SliceTransform {
 public:
  char const* Name() const override { return "muster.job_of_closure"; }
  rocksdb::Slice Transform(rocksdb::Slice const& key) const override {
    return {key.data(), job_prefix_length};
  }
  bool InDomain(rocksdb::Slice const& key) const override {
    return key.size() > job_prefix_length && key.starts_with({"e", 2});
  }
};

}  // namespace

rocksdb::Options options() {
  rocksdb::Options o;
  o.paranoid_checks = true;
  // The last write of a killed server can be torn. Any other fault in the log is corruption.
  o.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  o.write_buffer_size = std::size_t{32} << 20;
  o.max_total_wal_size = std::size_t{128} << 20;
  // One thread inserts a job's closures nearly in order, so each search starts at the last
  // position.
  o.memtable_insert_with_hint_prefix_extractor = std::make_shared<job_of_closure const>();
  o.allow_concurrent_memtable_write = false;
  o.max_open_files = 128;
  o.keep_log_file_num = 2;
  o.info_log_level = rocksdb::WARN_LEVEL;
  // File checksums also cover the few bytes outside the blocks' checksums.
  o.file_checksum_gen_factory = rocksdb::GetFileChecksumGenCrc32cFactory();
  return o;
}

muster::status refused(std::filesystem::path const& directory, std::string const& why) {
  return {code::failed_precondition, directory.string() + ": " + why};
}

std::string explained(rocksdb::Status const& s) {
  return s.IsCorruption() ? damaged(s.ToString()) : s.ToString();
}

// RocksDB 7.8 returns a generic IOError if the lock is taken, so the lock is tested explicitly. The
// test must use RocksDB: closing a file descriptor would release this process's own lock.
bool is_locked(std::filesystem::path const& directory) {
  auto const file = directory.string() + "/LOCK";
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) || ::access(file.c_str(), R_OK | W_OK) != 0)
    return false;
  rocksdb::FileLock* lock = nullptr;
  auto* const files = rocksdb::Env::Default();
  if (!files->LockFile(file, &lock).ok()) return true;
  (void)files->UnlockFile(lock);
  return false;
}

std::string damaged(std::string const& how) {
  return "its data is damaged (" + how + "); restore a backup into another directory";
}

std::string damaged(std::string const& file, std::uint64_t at) {
  return damaged(file + ": the record at byte " + std::to_string(at) + " is corrupt");
}

muster::status read(rocksdb::DB& db, std::string_view prefix, store::visitor const& v) {
  std::unique_ptr<rocksdb::Iterator> const it(db.NewIterator({}));
  for (it->Seek({prefix.data(), prefix.size()}); it->Valid(); it->Next()) {
    auto const key = it->key().ToStringView();
    if (!key.starts_with(prefix)) break;
    if (!v(key, it->value().ToStringView())) return {};
  }
  if (it->status().ok()) return {};
  return {code::internal, db.GetName() + ": " + explained(it->status())};
}

}  // namespace muster::server::journal::rocks
