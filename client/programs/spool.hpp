// The directories of ranks: what they printed, a file each, their working directories, and where
// uploads are unpacked. Of attempts that are over so many stay as `attempts_max` and `works_max`
// say. Any thread; what it does may wait for the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/process/own_directory.hpp"

namespace muster {

class spool {
 public:
  static constexpr std::size_t attempts_max = 32;
  /// Working directories of so many of them, which may have a copy of an upload for each rank.
  static constexpr std::size_t works_max = 4;
  static constexpr std::size_t read_bytes_max = std::size_t{256} << 10;

  /// `directory` empty: one of its own among temporary files, which goes with this object, or, when
  /// its process was killed, with the next one that this user makes. Errors:
  /// std::filesystem::filesystem_error, std::system_error.
  explicit spool(std::filesystem::path directory);
  spool(spool const&) = delete;

  struct attempt {
    std::filesystem::path logs;  // "3.log" of rank 3; for this user only
    std::filesystem::path work;  // anybody who runs as another user gets through to his own
  };
  std::filesystem::path uploads() const { return root_ / "uploads"; }
  std::filesystem::path stacks() const { return root_ / "stacks"; }
  /// Contains the working directories of all attempts: works()/ATTEMPT/RANK.
  std::filesystem::path works() const { return root_ / "work"; }
  std::filesystem::path steps() const { return root_ / "steps"; }
  /// Where an attempt has its logs and files, made or not.
  attempt directories_of(std::uint64_t program, std::uint32_t number) const;
  /// Makes them, and removes those of the oldest attempts, but none of `in_use`.
  using attempt_name = std::pair<std::uint64_t, std::uint32_t>;
  void make(attempt_name which, std::set<attempt_name> const& in_use);

  struct piece {
    std::uint64_t offset = 0;  // of its first byte
    std::string data;
    std::uint64_t size = 0;  // of the file
  };
  /// From `offset`, which counts backwards from the end with `from_end`. What is no longer kept is
  /// passed over. Nothing: there is no such file.
  std::optional<piece> read(std::uint64_t program, std::uint32_t number, std::uint32_t rank,
                            std::uint64_t offset, bool from_end, std::size_t bytes_max) const;

  /// The last line with something to see, of which at most `line_bytes_max` of its beginning, where
  /// the last `look_bytes` of the file begin with it. A carriage return ends a line, as a bar of
  /// progress does.
  struct last {
    std::uint64_t size = 0;  // of the file
    std::string text;
  };
  static constexpr std::size_t line_bytes_max = 512, look_bytes = 4096;
  /// Of all that it has printed; 0: nothing.
  std::uint64_t size_of(std::uint64_t program, std::uint32_t number, std::uint32_t rank) const;
  /// Nothing: there is no such file, or it has `known` bytes as before.
  std::optional<last> last_line(std::uint64_t program, std::uint32_t number, std::uint32_t rank,
                                std::uint64_t known) const;

 private:
  void forget_oldest(std::set<attempt_name> const& in_use) const;

  std::unique_ptr<own_directory> const own_;  // nullptr: `root_` was given
  std::filesystem::path const root_;
};

}  // namespace muster
