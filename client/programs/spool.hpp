// The directories of ranks: a log file per rank, the working directories, and the directory in
// which uploads are unpacked. Thread-safe; functions can block on the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/process/private_temp_directory.hpp"

namespace muster {

class spool {
 public:
  /// Maximum number of attempts whose logs are kept.
  static constexpr std::size_t attempts_max = 32;
  /// Maximum number of attempts whose working directories are kept. A working directory can contain
  /// a copy of an upload.
  static constexpr std::size_t works_max = 4;
  static constexpr std::size_t read_bytes_max = std::size_t{256} << 10;

  /// Creates the directories below `directory`. If `directory` is empty, creates a temporary
  /// directory that the destructor removes. If the process is killed, the user's next spool removes
  /// this directory.
  /// @throws std::filesystem::filesystem_error, std::system_error
  explicit spool(std::filesystem::path directory);
  spool(spool const&) = delete;

  struct attempt {
    std::filesystem::path logs;  // contains rank 3's log as "3.log"; accessible only to this user
    std::filesystem::path work;  // ranks of other users can access their own directories
  };
  std::filesystem::path uploads() const { return root_ / "uploads"; }
  std::filesystem::path stacks() const { return root_ / "stacks"; }
  /// Contains works()/ATTEMPT/RANK.
  std::filesystem::path works() const { return root_ / "work"; }
  std::filesystem::path steps() const { return root_ / "steps"; }
  /// Returns an attempt's directories, which may not exist.
  attempt directories_of(std::uint64_t program, std::uint32_t number) const;
  using attempt_name = std::pair<std::uint64_t, std::uint32_t>;
  /// Creates the directories of `which`. Removes the oldest attempts' directories except `in_use`.
  void make(attempt_name which, std::set<attempt_name> const& in_use);

  struct piece {
    std::uint64_t offset = 0;
    std::string data;
    std::uint64_t size = 0;
  };
  /// Reads a log from `offset`, which counts backwards from the end if `from_end` is set. Skips
  /// deleted bytes at the beginning. Returns nullopt if the file does not exist.
  std::optional<piece> read(std::uint64_t program, std::uint32_t number, std::uint32_t rank,
                            std::uint64_t offset, bool from_end, std::size_t bytes_max) const;

  /// The last non-blank line of a log, truncated to `line_bytes_max` bytes. Only the last
  /// `look_bytes` of the file are read, so a longer line lacks its beginning. A carriage return
  /// also ends a line, because progress bars use carriage returns.
  struct last {
    std::uint64_t size = 0;
    std::string text;
  };
  static constexpr std::size_t line_bytes_max = 512, look_bytes = 4096;
  std::uint64_t size_of(std::uint64_t program, std::uint32_t number, std::uint32_t rank) const;
  /// Returns nullopt if the file does not exist, or if its size is still `known`.
  std::optional<last> last_line(std::uint64_t program, std::uint32_t number, std::uint32_t rank,
                                std::uint64_t known) const;

 private:
  void forget_oldest(std::set<attempt_name> const& in_use) const;

  std::unique_ptr<private_temp_directory> const own_;  // null if a directory was given
  std::filesystem::path const root_;
};

}  // namespace muster
