// A file gets its name when it is complete, and with `durable` when it is on the disk.
#include "server/hub/blob_files.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/hex.hpp"
#include "base/no_room.hpp"

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

int open_file(fs::path const& path, int flags) {
  return ::open(path.c_str(), flags | O_CLOEXEC, 0600);
}

/// 0, or the error.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto const n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

/// The same; `into` is cut to what there is.
int read_all(int fd, std::string& into, std::uint64_t offset) {
  std::size_t got = 0;
  while (got < into.size()) {
    auto const n =
        ::pread(fd, into.data() + got, into.size() - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  into.resize(got);
  return 0;
}

int sync_directory(fs::path const& directory) {
  int const fd = open_file(directory, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return errno;
  int const error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  return error;
}

/// A directory that is locked for as long as this lives; -1: somebody else has it.
int lock_directory(fs::path const& directory) {
  int const fd = open_file(directory, O_RDONLY | O_DIRECTORY);
  if (fd < 0 || ::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

struct blob_files::upload {
  upload() : context(EVP_MD_CTX_new()) { EVP_DigestInit_ex(context, EVP_sha256(), nullptr); }
  upload(upload const&) = delete;
  ~upload() {
    EVP_MD_CTX_free(context);
    if (fd < 0) return;
    ::close(fd);
    ::unlink(path.c_str());  // gone already when it has its name
  }
  std::string digest() {
    std::string made(32, '\0');
    EVP_DigestFinal_ex(context, reinterpret_cast<unsigned char*>(made.data()), nullptr);
    return made;
  }

  EVP_MD_CTX* context;
  std::string small;  // until it is too much
  std::uint64_t number = 0;
  int fd = -1;
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
    fs::create_directories(directory, error);
    if (error) return failed(directory, error.value());
    if (int const e = options_.durable ? sync_directory(directory.parent_path()) : 0; e != 0)
      return failed(directory, e);
  }
  lock_ = lock_directory(directory);
  if (lock_ < 0)
    return {muster::code::internal,
            directory.string() + ": another server keeps its blobs there: give each its own"};
  directory_ = std::move(directory);
  return {};
}

// Of servers that were killed: nobody has a lock on them.
void blob_files::remove_left_over() const {
  std::error_code error;
  for (auto const& entry : fs::directory_iterator(fs::temp_directory_path(error), error)) {
    if (!entry.path().filename().string().starts_with(own_directory)) continue;
    int const fd = lock_directory(entry.path());
    if (fd < 0) continue;
    std::error_code ignored;  // of another user, or gone
    fs::remove_all(entry.path(), ignored);
    ::close(fd);
  }
}

muster::status blob_files::append(std::uint64_t number, std::string_view piece) {
  auto& u = uploads_[number];
  if (!u) {
    u = std::make_unique<upload>();
    u->number = number;
  }
  EVP_DigestUpdate(u->context, piece.data(), piece.size());
  if (u->fd < 0 && u->small.size() + piece.size() <= options_.small_max) {
    u->small += piece;
    return {};
  }
  auto written = write(*u, std::exchange(u->small, {}));
  return written.ok() ? write(*u, piece) : written;
}

muster::status blob_files::write(upload& u, std::string_view bytes) {
  if (u.fd < 0) {
    if (auto const opened = open_directory(); !opened.ok()) return opened;
    u.path = directory_ / (std::string(unfinished) + std::to_string(u.number));
    u.fd = open_file(u.path, O_WRONLY | O_CREAT | O_TRUNC);
    if (u.fd < 0) return failed(u.path, errno);
  }
  int const error = write_all(u.fd, bytes);
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
  if (u->fd >= 0 || options_.durable || small_bytes_ + u->small.size() > options_.memory_max)
    return keep(*u, hash);
  auto const [at, added] = small_.try_emplace(std::string(hash), std::move(u->small));
  if (added) small_bytes_ += at->second.size();
  return {};
}

muster::status blob_files::keep(upload& u, std::string_view hash) {
  if (u.fd < 0)
    if (auto const written = write(u, u.small); !written.ok()) return written;
  auto const path = file_of(hash);
  if (options_.durable && ::fsync(u.fd) != 0) return failed(u.path, errno);
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
  int const fd = directory_.empty() ? -1 : open_file(path, O_RDONLY);
  if (fd < 0 && (directory_.empty() || errno == ENOENT))
    return muster::status{muster::code::not_found, "there is no blob " + blob_hex_of(hash)};
  if (fd < 0) return failed(path, errno);
  std::string made(bytes, '\0');
  int const error = read_all(fd, made, offset);
  ::close(fd);
  if (error != 0) return failed(path, error);
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
  if (lock_ < 0) return;
  std::error_code ignored;  // what cannot be removed, the next process will
  if (!options_.durable) fs::remove_all(directory_, ignored);
  ::close(std::exchange(lock_, -1));
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
