#include "client/variables/saved_variables.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>

namespace muster::detail {
namespace {

constexpr std::uint64_t with_slots =
    4;  // the array, its momentum, and Adam's slots, which are twice as large
constexpr std::size_t ahead_max = 2;  // chunks requested before they are written

using handle = variable_core::handle;

struct rows_range {
  std::int64_t begin = 0, end = 0;
};

std::vector<rows_range> pieces_of(variable_core const& v, std::size_t shard) {
  auto const count = static_cast<std::int64_t>(
      std::max<std::uint64_t>(1, piece_bytes / std::max<std::uint64_t>(1, v.row_bytes())));
  auto const size = static_cast<std::int64_t>(v.bounds()[shard + 1] - v.bounds()[shard]);
  std::vector<rows_range> made;
  for (std::int64_t a = 0; a < size; a += count) made.push_back({a, std::min(size, a + count)});
  return made;
}

std::uint64_t bytes_of_shard(variable_core const& v, std::size_t shard) {
  auto const rows = v.shape().empty() ? 1 : v.bounds()[shard + 1] - v.bounds()[shard];
  return rows * v.row_bytes();
}

std::int64_t integer_of(array_view const& a) {
  std::int64_t n = 0;
  if (a.dtype != "int64" || !a.shape.empty())
    throw std::invalid_argument("a variable returned an invalid version");
  copy(a, &n);
  return n;
}

/// Writes the array, then names and slots alternately, then the version. Returns the version.
std::int64_t write(checkpoint_writer& out, variable_core const& v, std::uint64_t begin,
                   value const& answer) {
  auto const parts = decode(answer.bytes);
  if (parts.size() < 2 || parts.size() % 2 != 0)
    throw std::invalid_argument("'" + v.name() + "' returned a value that cannot be saved");
  std::vector<saved_array> saved{{"", parts[0]}};
  for (std::size_t i = 1; i + 1 < parts.size(); i += 2)
    saved.push_back({std::string(parts[i].data), parts[i + 1]});
  auto const version = integer_of(parts.back());
  out.rows(v.name(), begin, saved, version);
  return version;
}

void save_in_pieces(checkpoint_writer& out, variable_core const& v, std::size_t shard) {
  auto const said = v.call(shard, "begin_cut", {})->get(for_ever);
  std::int64_t const number = std::stoll(said.bytes);
  std::deque<std::pair<std::int64_t, handle>> ahead;
  std::optional<std::int64_t> version;
  auto const write_one = [&] {
    auto const [begin, part] = std::move(ahead.front());
    ahead.pop_front();
    auto const is =
        write(out, v, v.bounds()[shard] + static_cast<std::uint64_t>(begin), part->get(for_ever));
    if (version.value_or(is) != is)
      throw std::invalid_argument("the pieces of '" + v.name() + "' have different versions");
    version = is;
  };
  auto const end_cut = [&] { v.call(shard, "end_cut", {scalar_view(number)}); };
  try {
    for (auto const& r : pieces_of(v, shard)) {
      ahead.emplace_back(r.begin,
                         v.call(shard, "cut_rows",
                                {scalar_view(number), scalar_view(r.begin), scalar_view(r.end)}));
      if (ahead.size() == ahead_max) write_one();
    }
    while (!ahead.empty()) write_one();
  } catch (closure_error const&) {
    throw;  // the task or the snapshot is lost, so there is no snapshot to end
  } catch (...) {
    end_cut();
    throw;
  }
  end_cut();
}

/// `first` is the row for load_rows, or null for load.
handle loaded(checkpoint_reader& from, variable_core const& v, std::size_t shard,
              std::uint64_t begin, std::uint64_t end, std::int64_t const* first) {
  auto const [parts, version] = from.rows(v.name(), begin, end);
  std::vector<array_view> args;
  if (first) args.push_back(scalar_view(*first));
  for (auto const& p : parts) {
    if (!p.slot.empty()) args.push_back(text_view(p.slot));
    args.push_back(p.view());
  }
  args.push_back(scalar_view(version));
  return v.call(shard, first ? "load_rows" : "load", args);
}

}  // namespace

void save(checkpoint_writer& out, variable_core const& v) {
  for (std::size_t i = 0; i < v.shards().size(); ++i) {
    if (bytes_of_shard(v, i) * with_slots > whole_bytes_max)
      save_in_pieces(out, v, i);
    else
      write(out, v, v.bounds()[i], v.call(i, "save", {})->get(for_ever));
  }
}

void load(checkpoint_reader& from, variable_core const& v) {
  std::vector<handle> pending;
  for (std::size_t i = 0; i < v.shards().size(); ++i) {
    auto const low = v.bounds()[i], high = v.bounds()[i + 1];
    if (bytes_of_shard(v, i) * from.arrays_of(v.name()) <= whole_bytes_max) {
      pending.push_back(loaded(from, v, i, low, v.shape().empty() ? 1 : high, nullptr));
      continue;
    }
    for (auto const& r : pieces_of(v, i))
      pending.push_back(loaded(from, v, i, low + static_cast<std::uint64_t>(r.begin),
                               low + static_cast<std::uint64_t>(r.end), &r.begin));
  }
  for (auto const& p : pending) p->get(for_ever);
}

}  // namespace muster::detail
