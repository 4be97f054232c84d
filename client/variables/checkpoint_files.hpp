// A checkpoint on disk, of the form of python/muster/variables/checkpoint.py: PATH/checkpoint-7
// with a file `data` and, written last, `manifest.json`, which has what lies where and the SHA-256
// of both. It is made as checkpoint-7.tmp, brought to the disk, and then renamed: whatever dies on
// the way leaves the ones before. Knows nothing of clusters. One thread, and one program at a time
// for a path.
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

/// Of those that are there, whole or not; or of those that were not finished. Oldest first.
std::vector<std::uint64_t> checkpoints_in(std::filesystem::path const& path,
                                          bool unfinished = false);

/// A slot, or "" for the variable itself, and its array.
struct saved_array {
  std::string slot;
  array_view of;
};

/// Of the next checkpoint, until finish(); else it leaves nothing. Errors: std::system_error,
/// std::filesystem::filesystem_error.
class checkpoint_writer {
 public:
  explicit checkpoint_writer(std::filesystem::path path);
  ~checkpoint_writer();
  checkpoint_writer(checkpoint_writer const&) = delete;

  void variable(std::string const& name, shape const& of, std::string const& dtype);
  /// A part of a variable, from row `begin` on, with what of its slots belongs to it.
  void rows(std::string const& name, std::uint64_t begin, std::vector<saved_array> const& saved,
            std::int64_t version);
  /// An object's state, which is JSON.
  void object(std::string const& name, std::string_view state);
  /// Its number, once it is there for good.
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

/// Removes what was never finished before `newest`, and all whole ones but `keep`.
void tidy_checkpoints(std::filesystem::path const& path, std::uint64_t newest,
                      std::optional<std::uint32_t> keep);

/// Of one that is whole: all of it is read once to know.
class checkpoint_reader {
 public:
  /// Why it is not whole.
  struct torn : std::runtime_error {
    using runtime_error::runtime_error;
  };
  /// Errors: torn.
  checkpoint_reader(std::filesystem::path const& path, std::uint64_t number);

  struct part {
    std::string slot, dtype;
    detail::shape shape;
    std::string data;

    array_view view() const { return {dtype, shape, data}; }
  };
  /// Rows of a variable with their slots, and its version, however it was divided when it was
  /// saved. Errors: torn.
  std::pair<std::vector<part>, std::int64_t> rows(std::string const& name, std::uint64_t begin,
                                                  std::uint64_t end);
  /// Errors: std::invalid_argument: it has no such variable, or one of another shape or dtype.
  void check(std::string const& name, shape const& of, std::string const& dtype) const;
  /// Errors: std::invalid_argument: it has no such object, or its state as a pickle of Python.
  void check_object(std::string const& name) const;
  /// Its state, which is JSON. Errors: torn.
  std::string object(std::string const& name);
  /// How many a part of the variable has, its slots with it.
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
  std::unique_ptr<checkpoint_reader> newest;  // that is whole; or null
  std::vector<std::string> wrong;             // with newer ones
};
found_checkpoint newest_checkpoint(std::filesystem::path const& path);

/// JSON as Python's json.dumps(v, sort_keys=True) has it, whose digest a manifest carries.
std::string python_json(boost::json::value const& v);

}  // namespace muster::detail
