// An upload is renamed to its hash once it is completely on disk.
#include "client/programs/upload_cache.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <thread>

#include "base/archive/copy_tree.hpp"
#include "base/archive/unpack.hpp"
#include "client/log_line.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view unfinished = "new-";
constexpr std::chrono::milliseconds between_tries{50};

[[noreturn]] void fail(fs::path const& at) {
  throw std::system_error(errno, std::generic_category(), at.string());
}

bool is_hash(std::string const& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string short_name(std::string const& hash) {
  return "upload " + hash.substr(0, 12);
}

/// A new directory that is removed unless it has been renamed.
struct new_directory {
  explicit new_directory(fs::path const& in) {
    auto name = (in / (std::string(unfinished) + "XXXXXX")).string();
    if (!::mkdtemp(name.data())) fail(name);
    path = name;
  }
  ~new_directory() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
  fs::path path;
};

void make_durable(fs::path const& directory) {
  file_descriptor const file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file || ::syncfs(file.get()) != 0) fail(directory);
}

}  // namespace

std::optional<file_descriptor> upload_cache::try_lock() const {
  fs::create_directories(options_.directory);
  fs::permissions(options_.directory, fs::perms::owner_all);
  auto const path = options_.directory / "lock";
  file_descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) fail(path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) fail(path);
  return {};
}

// Polls, because workers rarely share a directory.
file_descriptor upload_cache::lock(std::function<bool()> const& given_up) const {
  for (;;) {
    if (auto held = try_lock()) return std::move(*held);
    if (given_up()) throw std::runtime_error("no rank is waiting for the upload");
    std::this_thread::sleep_for(between_tries);
  }
}

void upload_cache::provide(std::string const& hash, std::vector<fs::path> const& to,
                           std::optional<std::pair<uid_t, gid_t>> owner,
                           fetch_function const& fetch, std::function<bool()> const& given_up) {
  if (!is_hash(hash)) throw std::runtime_error("'" + hash + "' is not the digest of an upload");
  auto const held = lock(given_up);
  bool const known = fs::exists(at(hash));
  if (!known) add(hash, fetch);
  fs::last_write_time(at(hash), fs::file_time_type::clock::now());
  for (auto const& path : to) {
    fs::remove_all(path);
    copy_tree(at(hash) / "tree", path, owner);
  }
  auto const now = forget_old(hash);
  if (!known)
    log(log_level::info, "uploads: " + std::to_string(now.kept) + " of " +
                             std::to_string(now.bytes) + " bytes are stored, the limit is " +
                             std::to_string(options_.bytes_max));
}

void upload_cache::add(std::string const& hash, fetch_function const& fetch) {
  new_directory made(options_.directory);
  auto const archive = made.path / "archive";
  fetch(hash, archive);
  auto const size = fs::file_size(archive);
  fs::create_directory(made.path / "tree");
  auto const tree = unpack(archive, made.path / "tree", options_.limits);
  fs::remove(archive);
  std::ofstream(made.path / "bytes") << tree.bytes;
  make_durable(made.path);
  fs::rename(made.path, at(hash));
  made.path.clear();
  log(log_level::info, short_name(hash) + ": " + std::to_string(size) + " bytes, unpacked to " +
                           std::to_string(tree.entries) + " entries of " +
                           std::to_string(tree.bytes) + " bytes");
}

std::vector<upload_cache::entry> upload_cache::entries() const {
  std::vector<entry> all;
  for (auto const& e : fs::directory_iterator(options_.directory)) {
    entry one{.hash = e.path().filename().string(), .used = e.last_write_time(), .bytes = 0};
    if (!is_hash(one.hash)) continue;
    std::ifstream(e.path() / "bytes") >> one.bytes;
    all.push_back(std::move(one));
  }
  std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.used > b.used; });
  return all;
}

upload_cache::figures upload_cache::forget_old(std::string const& but) const {
  std::error_code ignored;
  for (auto const& e : fs::directory_iterator(options_.directory))
    if (e.path().filename().string().starts_with(unfinished)) fs::remove_all(e.path(), ignored);
  auto const oldest = fs::file_time_type::clock::now() - options_.age;
  figures now;
  for (auto const& e : entries()) {
    if (e.hash == but || (e.used > oldest && now.bytes + e.bytes <= options_.bytes_max)) {
      now.bytes += e.bytes;
      ++now.kept;
      continue;
    }
    // A partly removed upload must not be mistaken for a complete upload.
    auto const aside = options_.directory / (std::string(unfinished) + e.hash);
    fs::rename(at(e.hash), aside, ignored);
    fs::remove_all(aside, ignored);
    log(log_level::info,
        short_name(e.hash) + " of " + std::to_string(e.bytes) + " bytes was deleted");
  }
  return now;
}

void upload_cache::clean() {
  if (!fs::exists(options_.directory)) return;
  if (auto const held = try_lock()) forget_old({});
}

}  // namespace muster
