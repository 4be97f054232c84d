// The bytes of blobs, in memory and in files, and what is being put: one thread at a time. Which of
// them are wanted others know; see blob_store.
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
  /// Where files are; made with the first one. Empty: a directory of its own below that for
  /// temporary files.
  std::filesystem::path directory;
  /// What is there outlives the process: it is on the disk before it is told. Else it is removed at
  /// the end, and what a process that was killed has left with the next first file.
  bool durable = false;
  /// Larger ones are files, and so are those with which there were more than `memory_max`. With
  /// `durable` all are.
  std::size_t small_max = std::size_t{1} << 20;
  std::size_t memory_max = std::size_t{64} << 20;
};

class blob_files {
 public:
  explicit blob_files(blob_files_options options);
  ~blob_files();
  blob_files(blob_files const&) = delete;

  /// Hash and size of each that is there, where they outlive a process; what was not finished is
  /// removed. FAILED_PRECONDITION: the directory cannot be read.
  muster::result<names_and_sizes> find();

  /// Errors of all: no_room; UNAVAILABLE, the disk fails. With the path and the system's reason.
  muster::status append(std::uint64_t upload, std::string_view piece);
  /// It is kept under `name`. INVALID_ARGUMENT: it has another hash. The upload is over, in any
  /// case.
  muster::status finish(std::uint64_t upload, std::string_view hash, std::string_view name);
  void abandon(std::uint64_t number) { uploads_.erase(number); }
  /// Returns as many bytes as are asked for. NOT_FOUND, too; INTERNAL: its file has fewer.
  muster::result<std::string> read(std::string_view hash, std::uint64_t offset,
                                   std::size_t bytes) const;
  void remove(std::string_view hash);
  /// All that does not outlive the process.
  void clear();

 private:
  struct upload {
    sha256 hash;
    std::string small;  // until it is too much
    own_files::unfinished out;
  };

  muster::status open_directory();
  muster::status write(std::uint64_t number, upload& u, std::string_view bytes);
  muster::status keep(std::uint64_t number, upload& u, std::string_view name);

  blob_files_options const options_;
  /// Of a blob's file. Those under a name that is not their hash are for this process alone.
  std::string file_of(std::string_view name) const;

  own_files files_;
  std::map<std::uint64_t, upload> uploads_;
  std::unordered_set<std::string> named_;  // under a name that is not their hash
  std::unordered_map<std::string, std::string> small_;
  std::size_t small_bytes_ = 0;
};

/// 64 hexadecimal digits in lower case as 32 bytes; empty for anything else.
std::string blob_hash_of(std::string_view hex);
inline std::string blob_hex_of(std::string_view hash) {
  return absl::BytesToHexString({hash.data(), hash.size()});
}
/// NOT_FOUND.
muster::status no_such_blob(std::string_view hash);

}  // namespace muster::server
