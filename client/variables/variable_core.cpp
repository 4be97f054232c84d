#include "muster/detail/variable_core.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "client/variables/joined_value.hpp"

namespace muster::detail {
namespace {

void check_numbers(std::string_view method, variable_core::numbers all) {
  auto const finite = [](double n) { return std::isfinite(n); };
  if (!std::all_of(all.begin(), all.end(), finite))
    throw std::invalid_argument(std::string(method) + ": rates must be finite");
  if (!method.starts_with("adam")) return;
  for (auto const b : all.subspan(1, 2))
    if (!(0 <= b && b < 1))
      throw std::invalid_argument("beta1: " + std::to_string(all[1]) +
                                  ", beta2: " + std::to_string(all[2]) +
                                  "; both must be at least 0 and less than 1");
  if (all[3] < 0)
    throw std::invalid_argument("epsilon: " + std::to_string(all[3]) + ", must be at least 0");
}

void check_adds(std::string const& dtype, std::string_view method) {
  if (item_bytes(dtype) == 1 && method != "assign" && method != "scatter_update")
    throw std::invalid_argument("variables of dtype " + dtype +
                                " can only be assigned, read and gathered");
}

/// Returns the equivalent method for rows.
std::string_view of_rows_of(std::string_view method) {
  return method == "assign"       ? "assign_rows"
         : method == "assign_add" ? "scatter_add"
         : method == "assign_sub" ? "scatter_sub"
                                  : "sgd_rows";
}

void add_numbers(std::vector<array_view>& to, variable_core::numbers more) {
  for (auto const& n : more) to.push_back(scalar_view(n));
}

std::string one_of(value const& v, std::vector<array_view>& found) {
  if (v.encoding == encoding::bytes) {
    found = decode(v.bytes);
    if (found.size() == 1) return {};
  }
  return "the variable returned a value that is not an array";
}

value concatenated(std::vector<value> const& parts, shape const& of) {
  std::vector<array_view> all;
  for (auto const& p : parts) {
    std::vector<array_view> found;
    if (auto const wrong = one_of(p, found); !wrong.empty()) throw std::runtime_error(wrong);
    all.push_back(found[0]);
  }
  return {encode_rows(of, all), encoding::bytes};
}

}  // namespace

variable_core::variable_core(std::vector<remote_object> shards, std::vector<std::uint64_t> bounds,
                             detail::shape of, std::string dtype, std::string name,
                             remote_object index)
    : shards_(std::move(shards)),
      bounds_(std::move(bounds)),
      shape_(std::move(of)),
      dtype_(std::move(dtype)),
      name_(std::move(name)),
      index_(std::move(index)) {}

std::uint64_t variable_core::row_bytes() const {
  std::uint64_t n = item_bytes(dtype_);
  for (std::size_t i = 1; i < shape_.size(); ++i) n *= shape_[i];
  return n;
}

std::uint64_t variable_core::rows() const {
  if (shape_.empty()) throw std::invalid_argument("a scalar variable has no rows");
  return shape_[0];
}

detail::shape variable_core::of_rows(std::uint64_t count) const {
  auto made = shape_;
  if (!made.empty()) made[0] = count;
  return made;
}

/// `first` is the first row of `data`.
array_view variable_core::rows_of(std::string_view data, std::uint64_t first,
                                  range const& r) const {
  return {dtype_, of_rows(r.end - r.begin),
          data.substr((r.begin - first) * row_bytes(), (r.end - r.begin) * row_bytes())};
}

/// Returns the ranges of rows in each shard, at least one range.
std::vector<variable_core::range> variable_core::ranges(std::uint64_t begin,
                                                        std::uint64_t end) const {
  std::vector<range> all;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    range const r{i, std::max(begin, bounds_[i]), std::min(end, bounds_[i + 1])};
    if (r.begin < r.end) all.push_back(r);
  }
  if (all.empty()) all.push_back({0, bounds_[0], bounds_[0]});
  return all;
}

std::vector<variable_core::range> variable_core::pieces(range const& of) const {
  auto const count =
      std::max<std::uint64_t>(1, piece_bytes / std::max<std::uint64_t>(1, row_bytes()));
  std::vector<range> all;
  for (auto a = of.begin; a < of.end; a += count)
    all.push_back({of.shard, a, std::min(of.end, a + count)});
  return all;
}

void variable_core::check_whole(array_view const& with) const {
  if (with.shape != shape_ && !with.shape.empty())
    throw std::invalid_argument("shape: the variable has " + shown(shape_) + ", the argument has " +
                                shown(with.shape));
}

void variable_core::check_indices(indices which) const {
  auto const size = rows();
  for (auto const i : which)
    if (i < 0 || static_cast<std::uint64_t>(i) >= size)
      throw std::out_of_range("index " + std::to_string(i) + ": the number of rows is " +
                              std::to_string(size));
}

variable_core::handle variable_core::call(std::size_t shard, std::string_view method,
                                          std::vector<array_view> const& args) const {
  auto bytes = encode(args);
  if (bytes.size() > result_bytes_max)
    throw std::invalid_argument(std::string(method) + ": the arguments have " +
                                std::to_string(bytes.size()) + " bytes, the limit is " +
                                std::to_string(result_bytes_max) +
                                "; use a partitioner to divide the variable among tasks");
  auto const& to = shards_[shard];
  return to.caller().call(to.place(), method, {std::move(bytes), encoding::bytes});
}

std::vector<variable_core::handle> variable_core::call_sequentially(
    std::size_t shard, std::string_view method, std::vector<std::string> args) const {
  auto const& to = shards_[shard];
  return to.caller().call_sequentially(to.place(), method, std::move(args));
}

variable_core::handle variable_core::read() const {
  if (shape_.empty()) return call(0, "read", {});
  return read_rows(0, shape_[0]);
}

variable_core::handle variable_core::read_rows(std::uint64_t begin, std::uint64_t end) const {
  if (begin > end || end > rows())
    throw std::out_of_range("rows " + std::to_string(begin) + " to " + std::to_string(end) +
                            ": the number of rows is " + std::to_string(rows()));
  std::vector<handle> parts;
  for (auto const& r : ranges(begin, end)) {
    auto const first = bounds_[r.shard];
    auto const args = [first](range const& p) {
      std::int64_t const from[] = {static_cast<std::int64_t>(p.begin - first),
                                   static_cast<std::int64_t>(p.end - first)};
      return encode(std::vector{scalar_view(from[0]), scalar_view(from[1])});
    };
    bool const whole = r.begin == first && r.end == bounds_[r.shard + 1];
    if ((r.end - r.begin) * row_bytes() > whole_bytes_max) {
      std::vector<std::string> all;
      for (auto const& p : pieces(r)) all.push_back(args(p));
      auto made = call_sequentially(r.shard, "read_rows", std::move(all));
      parts.insert(parts.end(), made.begin(), made.end());
    } else if (whole) {
      parts.push_back(call(r.shard, "read", {}));
    } else {
      auto const& to = shards_[r.shard];
      parts.push_back(to.caller().call(to.place(), "read_rows", {args(r), encoding::bytes}));
    }
  }
  if (parts.size() == 1) return parts.front();
  return joined(std::move(parts), [of = of_rows(end - begin)](std::vector<value> const& all) {
    return concatenated(all, of);
  });
}

variable_core::handle variable_core::gather(indices which) const {
  check_indices(which);
  auto const most = std::max<std::uint64_t>(1, whole_bytes_max / (row_bytes() + 8));
  auto const per_piece = std::max<std::uint64_t>(1, piece_bytes / (row_bytes() + 8));
  std::vector<handle> parts;
  std::vector<std::vector<std::size_t>> places;  // positions of the rows in each part
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    std::vector<std::int64_t> here;
    std::vector<std::size_t> at;
    for (std::size_t k = 0; k < which.size(); ++k) {
      auto const n = static_cast<std::uint64_t>(which[k]);
      if (n < bounds_[i] || n >= bounds_[i + 1]) continue;
      here.push_back(static_cast<std::int64_t>(n - bounds_[i]));
      at.push_back(k);
    }
    if (here.empty() && !(which.empty() && i == 0)) continue;
    if (here.size() <= most) {
      parts.push_back(
          call(i, "gather", {view_of(std::span<std::int64_t const>(here), {here.size()})}));
      places.push_back(std::move(at));
      continue;
    }
    std::vector<std::string> all;
    for (std::size_t a = 0; a < here.size(); a += per_piece) {
      auto const n = std::min<std::size_t>(per_piece, here.size() - a);
      auto const some = std::span<std::int64_t const>(here).subspan(a, n);
      all.push_back(encode(std::vector{view_of(some, {n})}));
      places.emplace_back(at.begin() + static_cast<std::ptrdiff_t>(a),
                          at.begin() + static_cast<std::ptrdiff_t>(a + n));
    }
    auto made = call_sequentially(i, "gather", std::move(all));
    parts.insert(parts.end(), made.begin(), made.end());
  }
  if (parts.size() == 1) return parts.front();
  return joined(std::move(parts), [of = of_rows(which.size()), dtype = dtype_, row = row_bytes(),
                                   places](std::vector<value> const& all) {
    std::string rows(of[0] * row, '\0');
    for (std::size_t p = 0; p < all.size(); ++p) {
      std::vector<array_view> found;
      auto wrong = one_of(all[p], found);
      if (wrong.empty() && found[0].data.size() != places[p].size() * row)
        wrong = "the variable returned an array of the wrong size";
      if (!wrong.empty()) throw std::runtime_error(wrong);
      for (std::size_t k = 0; k < places[p].size(); ++k)
        found[0].data.copy(rows.data() + places[p][k] * row, row, k * row);
    }
    return value{encode(std::vector{array_view{dtype, of, rows}}), encoding::bytes};
  });
}

variable_core::handle variable_core::update(std::string_view method, array_view const& with,
                                            numbers more) const {
  check_whole(with);
  check_numbers(method, more);
  check_adds(dtype_, method);
  std::vector<handle> parts;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    range const r{i, bounds_[i], bounds_[i + 1]};
    auto const one = with.shape.empty() ? with : rows_of(with.data, 0, r);
    if (one.data.size() <= whole_bytes_max) {
      std::vector<array_view> args{one};
      add_numbers(args, more);
      parts.push_back(call(i, method, args));
      continue;
    }
    for (auto const& p : pieces(r)) {
      std::vector<std::int64_t> which(p.end - p.begin);
      std::iota(which.begin(), which.end(), static_cast<std::int64_t>(p.begin - r.begin));
      std::vector<array_view> args{view_of(std::span<std::int64_t const>(which), {which.size()})};
      if (method == "assign") args[0] = scalar_view(which[0]);
      args.push_back(rows_of(with.data, 0, p));
      add_numbers(args, more);
      parts.push_back(call(i, of_rows_of(method), args));
    }
  }
  return all_of(std::move(parts));
}

variable_core::handle variable_core::assign_rows(std::uint64_t begin, std::string_view data) const {
  auto const row = row_bytes();
  if (row == 0 || data.size() % row != 0 || begin > rows() || data.size() / row > rows() - begin)
    throw std::out_of_range("rows from " + std::to_string(begin) + " of " +
                            std::to_string(data.size()) + " bytes: the variable has " +
                            std::to_string(rows()) + " of " + std::to_string(row));
  std::vector<handle> parts;
  for (auto const& r : ranges(begin, begin + data.size() / row)) {
    if (r.begin == r.end) continue;
    bool const large = (r.end - r.begin) * row > whole_bytes_max;
    for (auto const& p : large ? pieces(r) : std::vector{r}) {
      auto const at = static_cast<std::int64_t>(p.begin - bounds_[r.shard]);
      parts.push_back(call(r.shard, "assign_rows", {scalar_view(at), rows_of(data, begin, p)}));
    }
  }
  return all_of(std::move(parts));
}

variable_core::handle variable_core::change_rows(std::string_view method, indices which,
                                                 std::string_view data, numbers more) const {
  check_indices(which);
  check_numbers(method, more);
  check_adds(dtype_, method);
  auto const row = row_bytes();
  if (data.size() != which.size() * row)
    throw std::invalid_argument("shape: the rows have " + shown(of_rows(which.size())) +
                                ", the argument has " + std::to_string(data.size()) + " bytes");
  bool const is_step = method == "adam_rows";
  auto const most = std::max<std::uint64_t>(1, whole_bytes_max / (row + 8));
  if (is_step) check_step_fits(which);  // this must precede the step on any shard
  std::vector<handle> parts;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    std::vector<std::int64_t> here;
    std::string rows_here;
    auto const send = [&] {
      std::vector<array_view> args{view_of(std::span<std::int64_t const>(here), {here.size()}),
                                   {dtype_, of_rows(here.size()), rows_here}};
      add_numbers(args, more);
      parts.push_back(call(i, method, args));
      here.clear();
      rows_here.clear();
    };
    for (std::size_t k = 0; k < which.size(); ++k) {
      auto const n = static_cast<std::uint64_t>(which[k]);
      if (n < bounds_[i] || n >= bounds_[i + 1]) continue;
      here.push_back(static_cast<std::int64_t>(n - bounds_[i]));
      rows_here += data.substr(k * row, row);
      if (!is_step && here.size() == most) send();
    }
    // All shards must have the same number of Adam steps.
    if (!here.empty() || is_step) send();
  }
  return all_of(std::move(parts));
}

// Checks that a step fits into a single call per shard.
void variable_core::check_step_fits(indices which) const {
  constexpr std::uint64_t heads = 1'000;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    auto const here = static_cast<std::uint64_t>(
        std::count_if(which.begin(), which.end(), [&](std::int64_t index) {
          auto const n = static_cast<std::uint64_t>(index);
          return n >= bounds_[i] && n < bounds_[i + 1];
        }));
    if (here * (row_bytes() + 8) + heads > result_bytes_max)
      throw std::invalid_argument(std::to_string(here) + " rows of " + std::to_string(row_bytes()) +
                                  " bytes for one shard exceed the limit of " +
                                  std::to_string(result_bytes_max) + " bytes for a step");
  }
}

variable_core::handle variable_core::step(std::string_view method, array_view const& gradient,
                                          numbers more) const {
  check_whole(gradient);
  check_numbers(method, more);
  std::vector<handle> parts;
  for (std::size_t i = 0; i < shards_.size(); ++i)  // this must precede the step on any shard
    if ((bounds_[i + 1] - bounds_[i]) * row_bytes() + 1000 > result_bytes_max)
      throw std::invalid_argument(std::string(method) + ": a shard has " +
                                  std::to_string((bounds_[i + 1] - bounds_[i]) * row_bytes()) +
                                  " bytes, the limit is " + std::to_string(result_bytes_max) +
                                  "; use a partitioner to divide the variable among tasks");
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    std::vector<array_view> args{
        shape_.empty() ? gradient : rows_of(gradient.data, 0, {i, bounds_[i], bounds_[i + 1]})};
    add_numbers(args, more);
    parts.push_back(call(i, method, args));
  }
  return all_of(std::move(parts));
}

void variable_core::erase() const {
  for (auto const& s : shards_) s.erase();
  if (index_.valid()) index_.erase();
}

}  // namespace muster::detail
