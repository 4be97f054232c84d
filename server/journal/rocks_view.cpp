#include "server/journal/rocks_view.hpp"

#include <rocksdb/env.h>
#include <rocksdb/sst_file_reader.h>

#include "server/journal/held_files.hpp"
#include "server/journal/log_format.hpp"
#include "server/journal/rocks.hpp"

namespace muster::server::journal {
namespace {

namespace fs = std::filesystem;

muster::status damaged(fs::path const& directory, std::string const& how) {
  return {code::internal, directory.string() + ": " + rocks::damaged(how)};
}

muster::status looked_at(fs::path const& directory) {
  std::error_code error;
  auto const kind = fs::status(directory, error).type();
  if (kind == fs::file_type::not_found) return rocks::refused(directory, "does not exist");
  if (kind != fs::file_type::directory && !error)
    return rocks::refused(directory, "is not a directory");
  bool manifest = false;
  for (auto const& f : fs::directory_iterator(directory, error)) {
    auto const name = f.path().filename().string();
    if (name == "CURRENT") return {};
    manifest = manifest || name.starts_with("MANIFEST-");
  }
  if (error) return {code::internal, directory.string() + ": cannot be read: " + error.message()};
  if (manifest) return damaged(directory, "its file CURRENT is missing");
  return rocks::refused(directory, "contains no Muster server data");
}

log_end end_of(held_file const& f) {
  std::uint64_t at = 0;
  return walk_log([&](char* into, std::size_t n) {
    auto const got = f.read(at, into, n);
    at += got > 0 ? static_cast<std::uint64_t>(got) : 0;
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  });
}

// Finds damaged records, and torn records that RocksDB would drop silently.
muster::status walk_logs(fs::path const& directory, held_files const& held, bool in_use,
                         std::vector<std::string>& notes) {
  for (auto const& [name, file] : held.files()) {
    if (!name.ends_with(".log") && !name.starts_with("MANIFEST-")) continue;
    auto const end = end_of(*file);
    if (end.what == log_end::kind::damaged)
      return {code::internal, directory.string() + ": " + rocks::damaged(name, end.at)};
    if (end.what != log_end::kind::torn || in_use) continue;
    auto const missing = end.missing > 0
                             ? " (at least " + std::to_string(end.missing) + " bytes are missing)"
                             : std::string();
    notes.push_back(name + ": the record at byte " + std::to_string(end.at) + " of " +
                    std::to_string(file->size()) + " is incomplete" + missing +
                    ", as happens after a kill or a power failure; a server ignores this record "
                    "and any missing records after it");
  }
  return {};
}

// RocksDB's message about a damaged table contains the manifest's name instead of the table's name.
std::string explained(rocksdb::Status const& why, rocksdb::Options const& options,
                      fs::path const& directory, held_files const& held) {
  for (auto const& [name, file] : held.files()) {
    if (!name.ends_with(".sst")) continue;
    rocksdb::SstFileReader table(options);
    auto found = table.Open((directory / name).string());
    if (found.ok()) found = table.VerifyChecksum();
    if (!found.ok()) return name + ": " + found.ToString();
  }
  return why.ToString();
}

}  // namespace

std::optional<int> user_of(fs::path const& directory) {
  open_file const file(directory / "LOCK", O_RDONLY);
  if (!file) return {};
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file.fd(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return {};
  return lock.l_pid > 0 ? lock.l_pid : 0;
}

rocks_view::~rocks_view() {
  if (db_) (void)db_->Close();
}

muster::result<std::unique_ptr<rocks_view>> rocks_view::open(fs::path const& directory) {
  if (auto const there = looked_at(directory); !there.ok()) return there;
  // Checked before the files are opened, because a server that starts later has not torn a record
  // yet.
  bool const in_use = user_of(directory).has_value();
  auto held = held_files::of(directory);
  if (!held) return held.error();
  std::unique_ptr<rocks_view> view(new rocks_view);
  view->directory_ = directory;
  view->files_ = (*held)->files().size();
  for (auto const& [name, file] : (*held)->files()) view->bytes_ += file->size();
  auto const walked = walk_logs(directory, **held, in_use, view->notes_);
  if (!walked.ok()) return walked;

  auto options = rocks::options();
  view->env_ = rocksdb::NewCompositeEnv(*held);
  options.env = view->env_.get();
  options.max_open_files = -1;  // all files are opened anyway
  options.max_file_opening_threads = 1;
  options.skip_stats_update_on_db_open = true;
  rocksdb::DB* db = nullptr;
  auto const opened = rocksdb::DB::OpenForReadOnly(options, directory.string(), &db);
  view->db_.reset(db);
  if (opened.IsCorruption() || opened.IsPathNotFound() || opened.IsNotFound())
    return damaged(directory, explained(opened, options, directory, **held));
  if (!opened.ok())
    return muster::status{code::internal, directory.string() + ": " + opened.ToString()};
  return view;
}

muster::status rocks_view::read(std::string_view prefix, visitor const& v) const {
  return rocks::read(*db_, prefix, v);
}

muster::status rocks_view::verify() const {
  for (auto const& s : {db_->VerifyChecksum({}), db_->VerifyFileChecksums({})})
    if (!s.ok()) return damaged(directory_, s.ToString());
  return {};
}

}  // namespace muster::server::journal
