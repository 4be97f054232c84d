#include "server/journal/held_files.hpp"

#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

namespace muster::server::journal {
namespace {

namespace fs = std::filesystem;
using rocksdb::IOStatus;

// The set of files changes at most a few times per second; opening the files takes milliseconds.
constexpr int tries_max = 50;
constexpr auto pause = std::chrono::milliseconds(5);

// Excludes LOCK, because closing the file would release this process's lock.
bool wanted(std::string const& name) {
  return name == "CURRENT" || name == "IDENTITY" || name.starts_with("MANIFEST-") ||
         name.ends_with(".log") || name.ends_with(".sst");
}

// Returns a fingerprint of the set of files. RocksDB writes the manifest before it deletes files,
// so no file is deleted while the fingerprint is unchanged.
std::string live_file_fingerprint(fs::path const& directory) {
  std::string current;
  std::getline(std::ifstream(directory / "CURRENT"), current);
  std::error_code error;
  auto text = current + " " + std::to_string(fs::file_size(directory / current, error));
  std::vector<std::string> logs;
  for (auto const& f : fs::directory_iterator(directory, error))
    if (f.path().extension() == ".log") logs.push_back(f.path().filename().string());
  std::sort(logs.begin(), logs.end());
  for (auto const& l : logs) text += " " + l;
  return text;
}

muster::status hold(fs::path const& directory, held_files::table& into) {
  std::error_code error;
  for (auto const& f : fs::directory_iterator(directory, error)) {
    auto const name = f.path().filename().string();
    if (!wanted(name)) continue;
    open_file file(f.path(), O_RDONLY);
    if (!file && errno == ENOENT) continue;
    struct stat facts {};
    if (!file || ::fstat(file.fd(), &facts) != 0)
      return {code::internal, f.path().string() + ": " + std::strerror(errno)};
    into.emplace(name, std::make_shared<held_file>(std::move(file),
                                                   static_cast<std::uint64_t>(facts.st_size)));
  }
  if (error) return {code::internal, directory.string() + ": " + error.message()};
  return {};
}

IOStatus failed(std::string const& what) {
  return IOStatus::IOError(what, std::strerror(errno));
}

class in_order final : public rocksdb::FSSequentialFile {
 public:
  explicit in_order(std::shared_ptr<held_file const> f) : file_(std::move(f)) {}
  IOStatus Read(std::size_t n, rocksdb::IOOptions const&, rocksdb::Slice* result, char* scratch,
                rocksdb::IODebugContext*) override {
    auto const got = file_->read(at_, scratch, n);
    if (got < 0) return failed("read");
    at_ += static_cast<std::uint64_t>(got);
    *result = {scratch, static_cast<std::size_t>(got)};
    return IOStatus::OK();
  }
  IOStatus Skip(std::uint64_t n) override {
    at_ += n;
    return IOStatus::OK();
  }

 private:
  std::shared_ptr<held_file const> const file_;
  std::uint64_t at_ = 0;
};

class anywhere final : public rocksdb::FSRandomAccessFile {
 public:
  explicit anywhere(std::shared_ptr<held_file const> f) : file_(std::move(f)) {}
  IOStatus Read(std::uint64_t at, std::size_t n, rocksdb::IOOptions const&, rocksdb::Slice* result,
                char* scratch, rocksdb::IODebugContext*) const override {
    auto const got = file_->read(at, scratch, n);
    if (got < 0) return failed("read");
    *result = {scratch, static_cast<std::size_t>(got)};
    return IOStatus::OK();
  }

 private:
  std::shared_ptr<held_file const> const file_;
};

// RocksDB tries the old suffix .ldb last, but the message must contain the current suffix.
IOStatus path_not_found(std::string name) {
  if (name.ends_with(".ldb")) name.replace(name.size() - 3, 3, "sst");
  return IOStatus::PathNotFound(name);
}
IOStatus read_only(std::string const& name) {
  return IOStatus::NotSupported(name + " is open for reading only");
}

}  // namespace

muster::result<std::shared_ptr<held_files>> held_files::of(fs::path const& directory,
                                                           std::function<void()> const& meanwhile) {
  for (int i = 0; i < tries_max; ++i) {
    if (i > 0) std::this_thread::sleep_for(pause);
    auto const before = live_file_fingerprint(directory);
    table files;
    if (auto const held = hold(directory, files); !held.ok()) return held;
    if (meanwhile) meanwhile();
    if (live_file_fingerprint(directory) == before)
      return std::make_shared<held_files>(std::move(files));
  }
  return muster::status{code::unavailable,
                        directory.string() + ": its files are changing too fast; try again"};
}

std::shared_ptr<held_file const> held_files::find(std::string const& name) const {
  auto const it = files_.find(fs::path(name).filename().string());
  return it == files_.end() ? nullptr : it->second;
}

IOStatus held_files::NewSequentialFile(std::string const& name, rocksdb::FileOptions const&,
                                       std::unique_ptr<rocksdb::FSSequentialFile>* made,
                                       rocksdb::IODebugContext*) {
  auto file = find(name);
  if (!file) return path_not_found(name);
  *made = std::make_unique<in_order>(std::move(file));
  return IOStatus::OK();
}

IOStatus held_files::NewRandomAccessFile(std::string const& name, rocksdb::FileOptions const&,
                                         std::unique_ptr<rocksdb::FSRandomAccessFile>* made,
                                         rocksdb::IODebugContext*) {
  auto file = find(name);
  if (!file) return path_not_found(name);
  *made = std::make_unique<anywhere>(std::move(file));
  return IOStatus::OK();
}

IOStatus held_files::FileExists(std::string const& name, rocksdb::IOOptions const&,
                                rocksdb::IODebugContext*) {
  return find(name) ? IOStatus::OK() : IOStatus::NotFound(name);
}

IOStatus held_files::GetChildren(std::string const&, rocksdb::IOOptions const&,
                                 std::vector<std::string>* names, rocksdb::IODebugContext*) {
  names->clear();
  for (auto const& [name, file] : files_) names->push_back(name);
  return IOStatus::OK();
}

IOStatus held_files::GetFileSize(std::string const& name, rocksdb::IOOptions const&,
                                 std::uint64_t* size, rocksdb::IODebugContext*) {
  auto const file = find(name);
  if (!file) return path_not_found(name);
  *size = file->size();
  return IOStatus::OK();
}

IOStatus held_files::NewWritableFile(std::string const& name, rocksdb::FileOptions const&,
                                     std::unique_ptr<rocksdb::FSWritableFile>*,
                                     rocksdb::IODebugContext*) {
  return read_only(name);
}
IOStatus held_files::CreateDir(std::string const& name, rocksdb::IOOptions const&,
                               rocksdb::IODebugContext*) {
  return read_only(name);
}
IOStatus held_files::CreateDirIfMissing(std::string const&, rocksdb::IOOptions const&,
                                        rocksdb::IODebugContext*) {
  return IOStatus::OK();  // exists, because it contains files
}
IOStatus held_files::DeleteFile(std::string const& name, rocksdb::IOOptions const&,
                                rocksdb::IODebugContext*) {
  return read_only(name);
}
IOStatus held_files::RenameFile(std::string const& from, std::string const&,
                                rocksdb::IOOptions const&, rocksdb::IODebugContext*) {
  return read_only(from);
}

}  // namespace muster::server::journal
