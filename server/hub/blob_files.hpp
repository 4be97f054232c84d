// The bytes of blobs and unfinished uploads, in memory and in files. Not thread-safe.
#pragma once

#include <absl/strings/escaping.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "server/disk/own_files.hpp"
#include "server/disk/sha256.hpp"

namespace muster::server {

struct blob_files_options {
  /// The directory is created when the first file is written. If the path is empty, the server
  /// creates a new directory below the system's temporary directory.
  std::filesystem::path directory;
  /// If true, a blob is on disk before `finish` returns. If false, the files are removed when the
  /// process exits; a later process removes the files of a killed process.
  bool durable = false;
  /// A blob is stored in a file if it exceeds `small_max` bytes, or if `memory_max` would be
  /// exceeded. With `durable`, all blobs are files.
  std::size_t small_max = std::size_t{1} << 20;
  std::size_t memory_max = std::size_t{64} << 20;
};

class blob_files {
 public:
  explicit blob_files(blob_files_options options);
  ~blob_files();
  blob_files(blob_files const&) = delete;

  /// Returns hash and size of each durable blob, and removes unfinished uploads. Returns
  /// FAILED_PRECONDITION if the directory cannot be read.
  muster::result<names_and_sizes> find();

  /// Stores a piece of an upload. This and the following functions return no_room if the disk is
  /// full, or UNAVAILABLE with the path if the disk fails.
  muster::status append(std::uint64_t upload, std::string_view piece);
  /// Ends the upload, even on an error. Returns INVALID_ARGUMENT if the hash differs.
  muster::status finish(std::uint64_t upload, std::string_view hash, std::string_view name);
  void abandon(std::uint64_t number) { uploads_.erase(number); }
  /// Also returns NOT_FOUND if the blob is unknown, or INTERNAL if the file ends earlier.
  muster::result<std::string> read(std::string_view hash, std::uint64_t offset,
                                   std::size_t bytes) const;
  void remove(std::string_view hash);
  /// Removes all blobs that must not survive the process.
  void clear();

 private:
  struct upload {
    sha256 hash;
    std::string small;  // empty once small_max is exceeded
    own_files::unfinished out;
  };

  muster::status open_directory();
  muster::status write(std::uint64_t number, upload& u, std::string_view bytes);
  muster::status keep(std::uint64_t number, upload& u, std::string_view name);

  blob_files_options const options_;
  /// A blob whose name is not its hash is visible only to this process.
  std::string file_of(std::string_view name) const;

  own_files files_;
  std::map<std::uint64_t, upload> uploads_;
  std::unordered_set<std::string> named_;  // names that are not their blob's hash
  std::unordered_map<std::string, std::string> small_;
  std::size_t small_bytes_ = 0;
};

/// Converts 64 lower-case hexadecimal digits to 32 bytes. Returns an empty string for other text.
std::string blob_hash_of(std::string_view hex);
inline std::string blob_hex_of(std::string_view hash) {
  return absl::BytesToHexString({hash.data(), hash.size()});
}
muster::status no_such_blob(std::string_view hash);

}  // namespace muster::server
