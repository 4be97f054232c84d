// A file gets its name when it is complete, and with `durable` when it is on the disk.
#include "server/hub/blob_files.hpp"

#include <openssl/evp.h>
#include <sys/file.h>

#include <algorithm>
#include <system_error>

#include "base/hex.hpp"
#include "base/no_room.hpp"
#include "server/disk/private_directory.hpp"

namespace muster::server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view unfinished = "put-";
constexpr std::string_view own_directory = "muster-blobs-";

muster::status failed(fs::path const& path, int error) {
  auto const why = std::generic_category().message(error);
  if (error == ENOSPC || error == EDQUOT) return no_room(path.parent_path().string(), why);
  return {muster::code::internal, path.string() + ": " + why};
}

/// A directory that is locked for as long as this lives; false: somebody else has it.
open_file lock_directory(fs::path const& directory) {
  open_file d(directory, O_RDONLY | O_DIRECTORY);
  if (d && ::flock(d.fd(), LOCK_EX | LOCK_NB) != 0) d.close();
  return d;
}

// Of servers that were killed: nobody has a lock on them.
void remove_left_over() {
  std::error_code error;
  for (auto const& entry : fs::directory_iterator(fs::temp_directory_path(error), error)) {
    if (!entry.path().filename().string().starts_with(own_directory)) continue;
    auto const lock = lock_directory(entry.path());
    std::error_code ignored;  // of another user, or gone
    if (lock) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

struct blob_files::upload {
  upload() : context(EVP_MD_CTX_new()) { EVP_DigestInit_ex(context, EVP_sha256(), nullptr); }
  upload(upload const&) = delete;
  ~upload() {
    EVP_MD_CTX_free(context);
    if (file) ::unlink(path.c_str());  // gone already when it has its name
  }
  std::string digest() {
    std::string made(32, '\0');
    EVP_DigestFinal_ex(context, reinterpret_cast<unsigned char*>(made.data()), nullptr);
    return made;
  }

  EVP_MD_CTX* context;
  std::string small;  // until it is too much
  std::uint64_t number = 0;
  open_file file;
  fs::path path;
};

blob_files::blob_files(blob_files_options options) : options_(std::move(options)) {}

blob_files::~blob_files() {
  clear();
}

fs::path blob_files::file_of(std::string_view hash) const {
  return (directory_.empty() ? options_.directory : directory_) / blob_hex_of(hash);
}

muster::result<std::vector<std::pair<std::string, std::uint64_t>>> blob_files::find() {
  std::vector<std::pair<std::string, std::uint64_t>> all;
  std::error_code error;
  if (options_.directory.empty() || !fs::exists(options_.directory, error)) return all;
  if (auto const opened = open_directory(); !opened.ok())
    return muster::status{muster::code::failed_precondition, opened.message};
  for (auto const& entry : fs::directory_iterator(directory_, error)) {
    auto const name = entry.path().filename().string();
    auto hash = blob_hash_of(name);
    if (!hash.empty() && options_.durable)
      all.emplace_back(std::move(hash), entry.file_size(error));
    else if (!hash.empty() || name.starts_with(unfinished))
      fs::remove(entry.path(), error);
  }
  return all;
}

muster::status blob_files::open_directory() {
  if (!directory_.empty()) return {};
  std::error_code error;
  auto directory = options_.directory;
  if (directory.empty()) {
    remove_left_over();
    auto name = (fs::temp_directory_path(error) / (std::string(own_directory) + "XXXXXX")).string();
    if (error || !::mkdtemp(name.data())) return failed(name, error ? error.value() : errno);
    directory = name;
  } else if (!fs::exists(directory, error)) {
    if (int const e = make_private_directory(directory); e != 0) return failed(directory, e);
    if (int const e = options_.durable ? sync_directory(directory.parent_path()) : 0; e != 0)
      return failed(directory, e);
  }
  lock_ = lock_directory(directory);
  if (!lock_)
    return {muster::code::internal,
            directory.string() + ": another server keeps its blobs there: give each its own"};
  directory_ = std::move(directory);
  return {};
}

muster::status blob_files::append(std::uint64_t number, std::string_view piece) {
  auto& u = uploads_[number];
  if (!u) {
    u = std::make_unique<upload>();
    u->number = number;
  }
  EVP_DigestUpdate(u->context, piece.data(), piece.size());
  if (!u->file && u->small.size() + piece.size() <= options_.small_max) {
    u->small += piece;
    return {};
  }
  auto written = write(*u, std::exchange(u->small, {}));
  return written.ok() ? write(*u, piece) : written;
}

muster::status blob_files::write(upload& u, std::string_view bytes) {
  if (!u.file) {
    if (auto const opened = open_directory(); !opened.ok()) return opened;
    u.path = directory_ / (std::string(unfinished) + std::to_string(u.number));
    u.file = open_file(u.path, O_WRONLY | O_CREAT | O_TRUNC);
    if (!u.file) return failed(u.path, errno);
  }
  int const error = u.file.write(bytes);
  return error == 0 ? muster::status{} : failed(u.path, error);
}

muster::status blob_files::finish(std::uint64_t number, std::string_view hash) {
  auto& slot = uploads_[number];
  auto const u = slot ? std::move(slot) : std::make_unique<upload>();  // nothing was appended
  uploads_.erase(number);
  u->number = number;
  if (auto const is = u->digest(); is != hash)
    return {muster::code::invalid_argument,
            "the bytes have the SHA-256 " + blob_hex_of(is) + ", not " + blob_hex_of(hash)};
  if (u->file || options_.durable || small_bytes_ + u->small.size() > options_.memory_max)
    return keep(*u, hash);
  auto const [at, added] = small_.try_emplace(std::string(hash), std::move(u->small));
  if (added) small_bytes_ += at->second.size();
  return {};
}

muster::status blob_files::keep(upload& u, std::string_view hash) {
  if (!u.file)
    if (auto const written = write(u, u.small); !written.ok()) return written;
  auto const path = file_of(hash);
  if (int const e = options_.durable ? u.file.sync() : 0; e != 0) return failed(u.path, e);
  if (::rename(u.path.c_str(), path.c_str()) != 0) return failed(path, errno);
  if (int const e = options_.durable ? sync_directory(directory_) : 0; e != 0)
    return failed(path, e);
  return {};
}

void blob_files::abandon(std::uint64_t number) {
  uploads_.erase(number);
}

muster::result<std::string> blob_files::read(std::string_view hash, std::uint64_t offset,
                                             std::size_t bytes) const {
  if (auto const it = small_.find(std::string(hash)); it != small_.end())
    return it->second.substr(std::min<std::size_t>(offset, it->second.size()), bytes);
  auto const path = file_of(hash);
  auto const file = directory_.empty() ? open_file() : open_file(path, O_RDONLY);
  if (!file && (directory_.empty() || errno == ENOENT))
    return muster::status{muster::code::not_found, "there is no blob " + blob_hex_of(hash)};
  if (!file) return failed(path, errno);
  std::string made(bytes, '\0');
  auto const got = file.read(offset, made.data(), bytes);
  if (got < 0) return failed(path, errno);
  made.resize(static_cast<std::size_t>(got));
  return made;
}

void blob_files::remove(std::string_view hash) {
  if (auto const it = small_.find(std::string(hash)); it != small_.end()) {
    small_bytes_ -= it->second.size();
    small_.erase(it);
  }
  if (!directory_.empty()) ::unlink(file_of(hash).c_str());
}

void blob_files::clear() {
  uploads_.clear();
  if (!options_.durable) small_.clear();
  if (!lock_) return;
  std::error_code ignored;  // what cannot be removed, the next process will
  if (!options_.durable) fs::remove_all(directory_, ignored);
  lock_.close();
  directory_.clear();
}

std::string blob_hash_of(std::string_view hex) {
  if (hex.size() != 64) return {};
  std::string hash;
  for (std::size_t i = 0; i < hex.size(); ++i) {
    char const c = hex[i];
    bool const digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'a' && c <= 'f')) return {};
    int const value = digit ? c - '0' : c - 'a' + 10;
    if (i % 2 == 0)
      hash += static_cast<char>(value << 4);
    else
      hash.back() = static_cast<char>(static_cast<unsigned char>(hash.back()) | value);
  }
  return hash;
}

std::string blob_hex_of(std::string_view hash) {
  return hex(hash);
}

}  // namespace muster::server
