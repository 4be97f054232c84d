#include "server/journal/stored_blobs.hpp"

#include <absl/strings/escaping.h>

#include <algorithm>

#include "server/disk/own_files.hpp"
#include "server/disk/private_directory.hpp"
#include "server/disk/sha256.hpp"

namespace muster::server::journal {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_bytes = std::size_t{1} << 20;
constexpr std::size_t missing_max = 16;

class reader {
 public:
  reader(fs::path into, watcher const& watch) : into_(std::move(into)), watch_(watch) {}

  /// Returns false if the file has been deleted.
  muster::result<bool> read(fs::path const& path) {
    open_file const from(path, O_RDONLY | O_NOFOLLOW);
    if (!from && errno == ENOENT) return false;
    if (!from) return disk_error(path, errno, "cannot be read");
    auto const to = into_.empty() ? fs::path() : into_ / path.filename();
    open_file copy;
    if (!to.empty()) copy = open_file(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    if (!to.empty() && !copy) return disk_error(to, errno, "cannot be created");
    if (auto const done = read_pieces(path, from, to, copy); !done.ok()) return done;
    if (int const error = copy ? copy.sync() : 0; error != 0)
      return disk_error(to, error, "cannot be written to disk");
    ++found.blobs;
    return true;
  }

  found_blobs found;

 private:
  muster::status read_pieces(fs::path const& path, open_file const& from, fs::path const& to,
                             open_file const& copy) {
    sha256 hash;
    for (std::uint64_t at = 0;;) {
      auto const n = from.read(at, piece_.data(), piece_.size());
      if (n < 0) return disk_error(path, errno, "cannot be read");
      if (n == 0) break;
      at += static_cast<std::uint64_t>(n);
      auto const piece = std::string_view(piece_).substr(0, static_cast<std::size_t>(n));
      hash.add(piece);
      if (int const error = copy ? copy.write(piece) : 0; error != 0)
        return disk_error(to, error, "cannot be written");
      found.bytes += piece.size();
      if (watch_ && !watch_(copy ? "copying blobs" : "checking blobs", found.blobs, found.bytes))
        return {code::cancelled, path.string() + ": interrupted"};
    }
    if (auto const is = absl::BytesToHexString(hash.digest()); is != path.filename().string())
      return {code::internal, path.string() +
                                  ": this blob is damaged: its content has the SHA-256 " + is +
                                  "; remove the file to read the rest"};
    return {};
  }

  fs::path const into_;
  watcher const& watch_;
  std::string piece_ = std::string(piece_bytes, '\0');
};

void add_missing(std::map<std::string, std::string> const& named,
                 std::vector<std::string> const& there, found_blobs& into) {
  std::uint64_t missing = 0;
  for (auto const& [name, who] : named) {
    if (std::binary_search(there.begin(), there.end(), name)) continue;
    if (++missing < missing_max)
      into.missing.push_back("blob " + name + " is missing; " + who + " refers to it");
  }
  if (missing >= missing_max)
    into.missing.push_back(std::to_string(missing - missing_max + 1) +
                           " more blobs that values refer to are missing");
}

}  // namespace

muster::result<found_blobs> read_blobs(fs::path const& directory,
                                       std::map<std::string, std::string> const& named,
                                       fs::path const& into, watcher const& watch) {
  auto const from = directory / blob_folder;
  names_and_sizes files;
  if (std::error_code error; !directory.empty() && fs::exists(from, error)) {
    auto found = files_in(from, is_blob_name);
    if (!found) return found.error();
    files = std::move(*found);
    std::sort(files.begin(), files.end());
  }
  auto const to = into.empty() || files.empty() ? fs::path() : into / blob_folder;
  if (int const e = to.empty() ? 0 : make_private_directory(to); e != 0)
    return disk_error(to, e, "cannot be created");
  reader r(to, watch);
  std::vector<std::string> there;
  for (auto const& [name, size] : files) {
    auto const read = r.read(from / name);
    if (!read) return read.error();
    if (*read) there.push_back(name);
  }
  if (int const e = to.empty() ? 0 : sync_directory(to); e != 0)
    return disk_error(to, e, "cannot be written to disk");
  r.found.named = named.size();
  add_missing(named, there, r.found);
  return std::move(r.found);
}

}  // namespace muster::server::journal
