// Uploads of programs, unpacked below a directory once for each hash and copied from there to
// ranks.
//
//   uploads/lock          held while anything is done here, also by other workers of this directory
//   uploads/HASH/tree     what was unpacked; nobody changes it
//   uploads/HASH/bytes    how much that is; the directory's time says when it was used last
//   uploads/new-XXXXXX    is being made; is left behind by who was killed, and goes
//
// For this user alone: ranks of --program-user see their copies only. Any thread, one at a time;
// what it does may wait for the network and the disk.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/archive/tree_limits.hpp"
#include "base/process/file_descriptor.hpp"

namespace muster {

struct upload_cache_options {
  std::filesystem::path directory;
  std::uint64_t bytes_max = 0;  // what was not used for longest goes
  std::chrono::seconds age{};   // so does what was not used for so long
  tree_limits limits{};         // of one
};

class upload_cache {
 public:
  /// Gets the archive of this hash into a new file. Errors: std::exception, in words.
  using fetch_function =
      std::function<void(std::string const& hash, std::filesystem::path const& to)>;

  explicit upload_cache(upload_cache_options options) : options_(std::move(options)) {}

  /// The tree of the upload with this hash (64 hexadecimal digits) at each of the paths, which are
  /// made anew. `given_up`: asked while another worker has the directory. Errors: std::exception,
  /// in words.
  void provide(std::string const& hash, std::vector<std::filesystem::path> const& to,
               std::optional<std::pair<uid_t, gid_t>> owner, fetch_function const& fetch,
               std::function<bool()> const& given_up);
  /// Lets go of what is too old or too much, unless another worker has the directory just now.
  void clean();

 private:
  struct entry {
    std::string hash;
    std::filesystem::file_time_type used;
    std::uint64_t bytes = 0;
  };
  struct figures {
    std::size_t kept = 0;
    std::uint64_t bytes = 0;
  };
  /// Nothing: it is taken.
  std::optional<file_descriptor> try_lock() const;
  file_descriptor lock(std::function<bool()> const& given_up) const;
  void add(std::string const& hash, fetch_function const& fetch);
  std::vector<entry> entries() const;
  figures forget_old(std::string const& but) const;
  std::filesystem::path at(std::string const& hash) const { return options_.directory / hash; }

  upload_cache_options const options_;
};

}  // namespace muster
