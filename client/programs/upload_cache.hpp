// Program uploads, each unpacked once by hash and then copied to ranks. Files:
//
//     uploads/lock          locked during all work in `uploads`, also by other workers with this
//     directory
//     uploads/HASH/tree     the unpacked files, never modified
//     uploads/HASH/bytes    their size; the directory's time is the time of the last use
//     uploads/new-XXXXXX    being created; removed later if its process was killed
//
// Only this user can access the cache; ranks of --program-user see copies. Can be used on any
// thread, by one thread at a time, and can block on the network and the disk.
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
  std::uint64_t bytes_max = 0;  // beyond this limit, the least recently used uploads are removed
  std::chrono::seconds age{};   // uploads unused for this time are removed
  tree_limits limits{};
};

class upload_cache {
 public:
  /// Downloads an archive into a new file.
  /// @throws std::exception with a readable message
  using fetch_function =
      std::function<void(std::string const& hash, std::filesystem::path const& to)>;

  explicit upload_cache(upload_cache_options options) : options_(std::move(options)) {}

  /// Replaces each of the paths with a copy of the upload.
  /// @param hash 64 hexadecimal digits
  /// @param given_up polled while another worker holds the lock; if it returns true, this function
  ///   throws
  /// @throws std::exception with a readable message
  void provide(std::string const& hash, std::vector<std::filesystem::path> const& to,
               std::optional<std::pair<uid_t, gid_t>> owner, fetch_function const& fetch,
               std::function<bool()> const& given_up);
  /// Removes uploads beyond the limits, unless another worker holds the lock.
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
  /// Returns nullopt if another worker holds the lock.
  std::optional<file_descriptor> try_lock() const;
  file_descriptor lock(std::function<bool()> const& given_up) const;
  void add(std::string const& hash, fetch_function const& fetch);
  std::vector<entry> entries() const;
  figures forget_old(std::string const& but) const;
  std::filesystem::path at(std::string const& hash) const { return options_.directory / hash; }

  upload_cache_options const options_;
};

}  // namespace muster
