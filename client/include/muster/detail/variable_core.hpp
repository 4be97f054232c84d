// A variable of any dtype, on one task or in shards of rows. For variable.hpp only.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/detail/array_view.hpp"
#include "muster/remote_object.hpp"

namespace muster::detail {

/// Maximum array bytes in one call. Leaves room in the 32 MiB limit for arguments and results.
inline constexpr std::uint64_t whole_bytes_max = std::uint64_t{24} << 20;
/// Size of the pieces into which a larger array is split, in bytes.
inline constexpr std::uint64_t piece_bytes = std::uint64_t{2} << 20;

class variable_core {
 public:
  using handle = std::shared_ptr<value_handle const>;
  using indices = std::span<std::int64_t const>;
  using numbers = std::span<double const>;

  /// `bounds` contains the first row of each shard, followed by the end of the last shard. `index`
  /// is the object through which other programs find the shards of a named variable.
  variable_core(std::vector<remote_object> shards, std::vector<std::uint64_t> bounds,
                detail::shape of, std::string dtype, std::string name, remote_object index = {});
  /// Waits for the shapes of the shards and returns the variable. Throws std::invalid_argument if
  /// the objects are not variables. Also throws errors of calls.
  static std::shared_ptr<variable_core const> of(std::vector<remote_object> shards,
                                                 std::string const& name, remote_object index);

  detail::shape const& shape() const { return shape_; }
  std::string const& dtype() const { return dtype_; }
  std::string const& name() const { return name_; }
  std::vector<remote_object> const& shards() const { return shards_; }
  std::vector<std::uint64_t> const& bounds() const { return bounds_; }
  std::uint64_t row_bytes() const;
  /// Throws std::invalid_argument if the arguments are too large.
  handle call(std::size_t shard, std::string_view method,
              std::vector<array_view> const& args) const;

  // Arrays must have the variable's dtype. The following members throw std::invalid_argument and
  // std::out_of_range.
  handle read() const;
  handle read_rows(std::uint64_t begin, std::uint64_t end) const;
  handle gather(indices which) const;
  /// Calls assign, assign_add or assign_sub, or sgd with its learning rate in `more`. `with` is an
  /// array with the variable's shape, or one number for all elements.
  handle update(std::string_view method, array_view const& with, numbers more = {}) const;
  handle assign_rows(std::uint64_t begin, std::string_view rows) const;
  /// Calls scatter_add, scatter_sub, scatter_update or sgd_rows on the shards of the rows. Calls
  /// adam_rows on all shards.
  handle change_rows(std::string_view method, indices which, std::string_view rows,
                     numbers more = {}) const;
  /// Calls sgd with momentum or adam, with one call per shard.
  handle step(std::string_view method, array_view const& gradient, numbers more) const;
  void erase() const;

  void write(boost::json::value& to) const;
  /// Throws std::invalid_argument if the JSON is not a variable handle.
  static std::shared_ptr<variable_core const> read(boost::json::value const& from);

 private:
  struct range {
    std::size_t shard = 0;
    std::uint64_t begin = 0, end = 0;  // range of the variable's rows
  };

  std::vector<handle> call_sequentially(std::size_t shard, std::string_view method,
                                        std::vector<std::string> args) const;
  std::vector<range> ranges(std::uint64_t begin, std::uint64_t end) const;
  std::vector<range> pieces(range const& of) const;
  std::uint64_t rows() const;
  detail::shape of_rows(std::uint64_t count) const;
  array_view rows_of(std::string_view data, std::uint64_t first, range const& r) const;
  void check_whole(array_view const& with) const;
  void check_indices(indices which) const;
  void check_step_fits(indices which) const;

  std::vector<remote_object> const shards_;
  std::vector<std::uint64_t> const bounds_;
  detail::shape const shape_;
  std::string const dtype_, name_;
  remote_object const index_;
};

}  // namespace muster::detail
