// The encoding of arrays, common to all languages; see python/muster/objects/arrays.py.
#include <bit>
#include <cstring>
#include <stdexcept>

#include "muster/detail/array_view.hpp"

namespace muster::detail {
namespace {

static_assert(std::endian::native == std::endian::little,
              "arrays must have the same layout in memory and on the wire");

constexpr std::string_view magic =
    "\x93"
    "ARRAYS\x01";
constexpr std::size_t alignment = 16;
constexpr std::uint32_t count_max = 1000;
constexpr std::uint64_t empty_dimension_max = std::uint64_t{1} << 40;

struct known_dtype {
  std::string_view name;
  std::size_t bytes;
};
constexpr known_dtype dtypes[] = {
    {"bool", 1},    {"int8", 1},    {"int16", 2},     {"int32", 4},      {"int64", 8},
    {"uint8", 1},   {"uint16", 2},  {"uint32", 4},    {"uint64", 8},     {"float16", 2},
    {"float32", 4}, {"float64", 8}, {"complex64", 8}, {"complex128", 16}};

template <class N>
void put(std::string& to, N n) {
  char raw[sizeof(N)];
  std::memcpy(raw, &n, sizeof(N));
  to.append(raw, sizeof(N));
}

void put_head(std::string& to, array_view const& a, std::uint64_t bytes) {
  put(to, static_cast<std::uint8_t>(a.dtype.size()));
  to += a.dtype;
  put(to, static_cast<std::uint8_t>(a.shape.size()));
  for (auto const n : a.shape) put(to, n);
  put(to, bytes);
}

void pad(std::string& to) {
  to.append((alignment - to.size() % alignment) % alignment, '\0');
}

[[noreturn]] void wrong(std::string const& field, std::string const& what) {
  throw std::invalid_argument("arrays: " + field + ": " + what);
}

class reader {
 public:
  explicit reader(std::string_view all) : all_(all) {}

  std::string_view take(std::uint64_t size, std::string const& field) {
    if (size > all_.size() - at_)
      wrong(field, std::to_string(size) + " bytes needed at offset " + std::to_string(at_) +
                       ", but the data has only " + std::to_string(all_.size()));
    auto const found = all_.substr(at_, size);
    at_ += size;
    return found;
  }
  template <class N>
  N number(std::string const& field) {
    N n;
    std::memcpy(&n, take(sizeof(N), field).data(), sizeof(N));
    return n;
  }
  std::size_t at() const { return at_; }

 private:
  std::string_view all_;
  std::size_t at_ = 0;
};

struct head {
  array_view of;
  std::uint64_t bytes = 0;
};

head head_at(reader& r, std::string const& field) {
  head h;
  h.of.dtype = r.take(r.number<std::uint8_t>(field + ": dtype"), field + ": dtype");
  if (item_bytes(h.of.dtype) == 0 && h.of.dtype != "utf8" && h.of.dtype != "none")
    wrong(field + ": dtype", "'" + std::string(h.of.dtype) + "' is not supported");
  auto const dimensions = r.number<std::uint8_t>(field + ": dimensions");
  if (dimensions > dimensions_max)
    wrong(field + ": dimensions",
          std::to_string(dimensions) + ", the limit is " + std::to_string(dimensions_max));
  for (int i = 0; i < dimensions; ++i)
    h.of.shape.push_back(r.number<std::uint64_t>(field + ": shape"));
  h.bytes = r.number<std::uint64_t>(field + ": bytes");
  return h;
}

/// Returns false if the size overflows.
bool has_bytes(array_view const& a, std::uint64_t bytes) {
  if (a.dtype == "none") return bytes == 0;
  if (a.dtype == "utf8" && a.shape.size() != 1) return false;
  std::uint64_t n = a.dtype == "utf8" ? 1 : item_bytes(a.dtype);
  bool empty = false, over = false;
  for (auto const d : a.shape) {
    empty = empty || d == 0;
    over = __builtin_mul_overflow(n, d, &n) || over;
  }
  return empty ? bytes == 0 : !over && n == bytes;
}

}  // namespace

std::size_t item_bytes(std::string_view dtype) {
  for (auto const& d : dtypes)
    if (d.name == dtype) return d.bytes;
  return 0;
}

void copy(array_view const& from, void* to) {
  if (!from.data.empty()) std::memcpy(to, from.data.data(), from.data.size());
}

std::string shown(shape const& of) {
  std::string text = "(";
  for (auto const n : of) text += std::to_string(n) + ", ";
  if (of.size() == 1) text.pop_back();
  if (of.size() > 1) text.resize(text.size() - 2);
  return text + ")";
}

std::string encode(std::span<array_view const> all) {
  std::size_t size = magic.size() + 4;
  for (auto const& a : all)
    size += a.dtype.size() + 8 * a.shape.size() + a.data.size() + 10 + alignment;
  std::string to;
  to.reserve(size);
  to += magic;
  put(to, static_cast<std::uint32_t>(all.size()));
  for (auto const& a : all) put_head(to, a, a.data.size());
  for (auto const& a : all) {
    pad(to);
    to += a.data;
  }
  return to;
}

std::string encode_rows(shape const& of, std::span<array_view const> parts) {
  std::size_t size = 0;
  for (auto const& p : parts) size += p.data.size();
  std::string to;
  to.reserve(size + 8 * of.size() + 100);
  to += magic;
  put(to, std::uint32_t{1});
  put_head(to, {parts[0].dtype, of}, size);
  pad(to);
  for (auto const& p : parts) to += p.data;
  return to;
}

std::vector<array_view> decode(std::string_view bytes) {
  reader r(bytes);
  if (r.take(magic.size(), "magic") != magic) wrong("magic", "these bytes are not encoded arrays");
  auto const count = r.number<std::uint32_t>("count");
  if (count > count_max)
    wrong("count", std::to_string(count) + ", the limit is " + std::to_string(count_max));
  std::vector<head> heads;
  for (std::uint32_t i = 0; i < count; ++i)
    heads.push_back(head_at(r, "array " + std::to_string(i)));
  std::vector<array_view> all;
  for (auto& h : heads) {
    auto const field = "array " + std::to_string(all.size());
    if (!has_bytes(h.of, h.bytes))
      wrong(field + ": bytes", std::to_string(h.bytes) + " does not match dtype " +
                                   std::string(h.of.dtype) + " and shape " + shown(h.of.shape));
    if (h.bytes > 0) r.take((alignment - r.at() % alignment) % alignment, field + ": padding");
    h.of.data = r.take(h.bytes, field + ": data");
    for (auto const n : h.of.shape)
      if (h.bytes == 0 && n > empty_dimension_max) wrong(field + ": shape", shown(h.of.shape));
    if (h.of.dtype == "bool")
      for (auto const c : h.of.data)
        if (c != 0 && c != 1) wrong(field + ": data", "a bool must be 0 or 1");
    all.push_back(std::move(h.of));
  }
  return all;
}

}  // namespace muster::detail
