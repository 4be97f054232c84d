// The bytes of blobs and of unfinished uploads, in memory and in files. Used by one thread at a
// time. The blob_store decides which blobs are kept.
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
  /// Directory of the files, created with the first file. If empty, a new directory in the system's
  /// directory for temporary files.
  std::filesystem::path directory;
  /// Whether blobs outlive the process. If set, a blob is on disk before `finish` returns.
  /// Otherwise its files are removed at the end; those of a killed process are removed with the
  /// next first file.
  bool durable = false;
  /// Blobs above `small_max` bytes are files, and so are small blobs once those in memory would
  /// exceed `memory_max` bytes. With `durable`, all blobs are files.
  std::size_t small_max = std::size_t{1} << 20;
  std::size_t memory_max = std::size_t{64} << 20;
};

class blob_files {
 public:
  explicit blob_files(blob_files_options options);
  ~blob_files();
  blob_files(blob_files const&) = delete;

  /// Returns hash and size of every durable blob, and removes unfinished uploads. Errors:
  /// FAILED_PRECONDITION if the directory cannot be read.
  muster::result<names_and_sizes> find();

  /// Appends to an upload. This and the functions below return no_room if the disk is full, and
  /// UNAVAILABLE if it fails; the message has the path and the system's reason.
  muster::status append(std::uint64_t upload, std::string_view piece);
  /// Ends an upload and stores its bytes under `name`. Errors: INVALID_ARGUMENT if the hash
  /// differs. The upload ends in any case.
  muster::status finish(std::uint64_t upload, std::string_view hash, std::string_view name);
  void abandon(std::uint64_t number) { uploads_.erase(number); }
  /// Returns exactly `bytes` bytes. Errors: also NOT_FOUND; INTERNAL if the file is shorter.
  muster::result<std::string> read(std::string_view hash, std::uint64_t offset,
                                   std::size_t bytes) const;
  void remove(std::string_view hash);
  /// Removes everything that does not outlive the process.
  void clear();

 private:
  struct upload {
    sha256 hash;
    std::string small;  // until it exceeds small_max
    own_files::unfinished out;
  };

  muster::status open_directory();
  muster::status write(std::uint64_t number, upload& u, std::string_view bytes);
  muster::status keep(std::uint64_t number, upload& u, std::string_view name);

  blob_files_options const options_;
  /// Returns the file name of a blob. A blob whose name is not its hash is visible to this process
  /// only.
  std::string file_of(std::string_view name) const;

  own_files files_;
  std::map<std::uint64_t, upload> uploads_;
  std::unordered_set<std::string> named_;  // names that are not the hash of their blob
  std::unordered_map<std::string, std::string> small_;
  std::size_t small_bytes_ = 0;
};

/// Converts 64 lower-case hexadecimal digits to 32 bytes. Returns an empty string for anything
/// else.
std::string blob_hash_of(std::string_view hex);
inline std::string blob_hex_of(std::string_view hash) {
  return absl::BytesToHexString({hash.data(), hash.size()});
}
/// Returns a NOT_FOUND error that names the blob.
muster::status no_such_blob(std::string_view hash);

}  // namespace muster::server
