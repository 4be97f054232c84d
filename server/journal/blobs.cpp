// A mebibyte at a time is read, hashed and, for a copy, written.
#include "server/journal/blobs.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <system_error>

#include "base/hex.hpp"
#include "server/disk/open_file.hpp"
#include "server/disk/private_directory.hpp"

namespace muster::server::journal {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_bytes = std::size_t{1} << 20;
constexpr std::size_t missing_max = 16;
constexpr auto folder = "blobs";

muster::status failed(fs::path const& path, std::string const& what, int error) {
  return {code::internal,
          path.string() + ": " + what + ": " + std::generic_category().message(error)};
}

bool is_name(std::string_view name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

class reader {
 public:
  reader(fs::path into, watcher const& watch) : into_(std::move(into)), watch_(watch) {}

  /// False: it went meanwhile.
  muster::result<bool> read(fs::path const& path) {
    open_file const from(path, O_RDONLY | O_NOFOLLOW);
    if (!from && errno == ENOENT) return false;
    if (!from) return failed(path, "cannot be read", errno);
    auto const to = into_.empty() ? fs::path() : into_ / path.filename();
    open_file copy;
    if (!to.empty()) copy = open_file(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    if (!to.empty() && !copy) return failed(to, "cannot be made", errno);
    if (auto const done = read_pieces(path, from, to, copy); !done.ok()) return done;
    if (int const error = copy ? copy.sync() : 0; error != 0)
      return failed(to, "cannot be written to the disk", error);
    ++found.blobs;
    return true;
  }

  found_blobs found;

 private:
  muster::status read_pieces(fs::path const& path, open_file const& from, fs::path const& to,
                             open_file const& copy) {
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> const context(EVP_MD_CTX_new(),
                                                                          EVP_MD_CTX_free);
    EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
    for (std::uint64_t at = 0;;) {
      auto const n = from.read(at, piece_.data(), piece_.size());
      if (n < 0) return failed(path, "cannot be read", errno);
      if (n == 0) break;
      at += static_cast<std::uint64_t>(n);
      auto const piece = std::string_view(piece_).substr(0, static_cast<std::size_t>(n));
      EVP_DigestUpdate(context.get(), piece.data(), piece.size());
      if (int const error = copy ? copy.write(piece) : 0; error != 0)
        return failed(to, "cannot be written", error);
      found.bytes += piece.size();
      if (watch_ && !watch_(copy ? "copying blobs" : "checking blobs", found.blobs, found.bytes))
        return {code::cancelled, path.string() + ": broken off"};
    }
    unsigned char digest[EVP_MAX_MD_SIZE];
    EVP_DigestFinal_ex(context.get(), digest, nullptr);
    if (auto const is = hex({reinterpret_cast<char const*>(digest), 32});
        is != path.filename().string())
      return {code::internal, path.string() +
                                  ": this blob is damaged: its bytes have the SHA-256 " + is +
                                  "; without the file the rest can be read"};
    return {};
  }

  fs::path const into_;
  watcher const& watch_;
  std::string piece_ = std::string(piece_bytes, '\0');
};

muster::result<std::vector<fs::path>> files_of(fs::path const& directory) {
  std::vector<fs::path> all;
  std::error_code error;
  if (directory.empty() || !fs::exists(directory / folder, error)) return all;
  for (auto it = fs::directory_iterator(directory / folder, error);
       !error && it != fs::directory_iterator(); it.increment(error))
    if (is_name(it->path().filename().string())) all.push_back(it->path());
  if (error) return failed(directory / folder, "cannot be read", error.value());
  std::sort(all.begin(), all.end());
  return all;
}

void add_missing(std::map<std::string, std::string> const& named,
                 std::vector<std::string> const& there, found_blobs& into) {
  std::uint64_t missing = 0;
  for (auto const& [name, who] : named) {
    if (std::binary_search(there.begin(), there.end(), name)) continue;
    if (++missing < missing_max)
      into.missing.push_back("blob " + name + " is not there; " + who + " names it");
  }
  if (missing >= missing_max)
    into.missing.push_back(std::to_string(missing - missing_max + 1) +
                           " more blobs that values name are not there");
}

}  // namespace

muster::result<found_blobs> read_blobs(fs::path const& directory,
                                       std::map<std::string, std::string> const& named,
                                       fs::path const& into, watcher const& watch) {
  auto const files = files_of(directory);
  if (!files) return files.error();
  auto const to = into.empty() || files->empty() ? fs::path() : into / folder;
  if (int const e = to.empty() ? 0 : make_private_directory(to); e != 0)
    return failed(to, "cannot be made", e);
  reader r(to, watch);
  std::vector<std::string> there;
  for (auto const& path : *files) {
    auto const read = r.read(path);
    if (!read) return read.error();
    if (*read) there.push_back(path.filename().string());
  }
  if (int const e = to.empty() ? 0 : sync_directory(to); e != 0)
    return failed(to, "cannot be written to the disk", e);
  r.found.named = named.size();
  add_missing(named, there, r.found);
  return std::move(r.found);
}

}  // namespace muster::server::journal
