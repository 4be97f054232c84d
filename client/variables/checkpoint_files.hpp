// A checkpoint on disk, in the format of python/muster/variables/checkpoint.py: a directory
// PATH/checkpoint-7 with a file `data` and, written last, `manifest.json`. The manifest lists the
// offsets in `data` and the SHA-256 of both files. A checkpoint is written to checkpoint-7.tmp,
// synced and renamed, so that a crash leaves earlier checkpoints intact. Not thread-safe; only one
// program may write to a path.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/variables/checkpoint_digest.hpp"
#include "muster/detail/array_view.hpp"

namespace muster::detail {

/// Returns the numbers of all finished or all unfinished checkpoints, oldest first. Finished
/// checkpoints can be damaged.
std::vector<std::uint64_t> checkpoints_in(std::filesystem::path const& path,
                                          bool unfinished = false);

struct saved_array {
  std::string slot;
  array_view of;
};

/// Writes the next checkpoint. Without finish(), leaves no files. Throws std::system_error and
/// std::filesystem::filesystem_error.
class checkpoint_writer {
 public:
  explicit checkpoint_writer(std::filesystem::path path);
  ~checkpoint_writer();
  checkpoint_writer(checkpoint_writer const&) = delete;

  void variable(std::string const& name, shape const& of, std::string const& dtype);
  /// Writes rows of a variable, starting with row `begin`, and the corresponding parts of its
  /// slots.
  void rows(std::string const& name, std::uint64_t begin, std::vector<saved_array> const& saved,
            std::int64_t version);
  void object(std::string const& name, std::string_view state);
  /// Makes the checkpoint permanent and returns its number.
  std::uint64_t finish();

 private:
  boost::json::object put(std::string_view bytes);
  void write(int fd, std::string_view bytes);

  std::filesystem::path const path_;
  std::uint64_t number_ = 0;
  std::filesystem::path folder_;
  int data_ = -1;
  sha256 hash_;
  std::uint64_t at_ = 0;
  boost::json::object variables_, objects_;
};

/// Removes unfinished checkpoints before `newest`, and all but the newest `keep` finished
/// checkpoints.
void tidy_checkpoints(std::filesystem::path const& path, std::uint64_t newest,
                      std::optional<std::uint32_t> keep);

/// Reads a complete checkpoint. The constructor reads the whole checkpoint to verify it.
class checkpoint_reader {
 public:
  struct torn : std::runtime_error {
    using runtime_error::runtime_error;
  };
  /// Throws torn if the checkpoint is incomplete or damaged.
  checkpoint_reader(std::filesystem::path const& path, std::uint64_t number);

  struct part {
    std::string slot, dtype;
    detail::shape shape;
    std::string data;

    array_view view() const { return {dtype, shape, data}; }
  };
  /// Returns rows of a variable with their slots, and the variable's version, regardless of how the
  /// variable was sharded when it was saved. Throws torn.
  std::pair<std::vector<part>, std::int64_t> rows(std::string const& name, std::uint64_t begin,
                                                  std::uint64_t end);
  /// Throws std::invalid_argument if the variable is missing or has a different shape or dtype.
  void check(std::string const& name, shape const& of, std::string const& dtype) const;
  /// Throws std::invalid_argument if the object is missing or its state is a Python pickle.
  void check_object(std::string const& name) const;
  /// Returns the object's state as JSON. Throws torn.
  std::string object(std::string const& name);
  /// Returns the number of arrays in each part of the variable, including slots.
  std::size_t arrays_of(std::string const& name) const;
  std::uint64_t number() const { return number_; }

 private:
  boost::json::object const& variable(std::string const& name) const;
  std::string data_at(std::uint64_t at, std::uint64_t size);

  std::uint64_t const number_;
  std::string const folder_;
  boost::json::object variables_, objects_;
  std::ifstream data_;
};

struct found_checkpoint {
  std::unique_ptr<checkpoint_reader> newest;  // null if no checkpoint is complete
  std::vector<std::string> wrong;             // errors of newer checkpoints
};
found_checkpoint newest_checkpoint(std::filesystem::path const& path);

/// Returns the same JSON as Python's json.dumps(v, sort_keys=True), because the manifest contains a
/// digest of this text.
std::string python_json(boost::json::value const& v);

}  // namespace muster::detail
