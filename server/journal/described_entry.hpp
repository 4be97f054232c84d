// Encodes the structs of server/core/api/described.hpp as store entries. The bytes are the same as
// Protobuf's encoding of records.proto; tests/journal/described_entry_test.cpp verifies this.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"
#include "base/utf8.hpp"
#include "server/core/api/blob.hpp"
#include "server/core/api/described.hpp"
#include "server/core/api/time.hpp"

namespace muster::server::journal {

namespace entry {

enum : std::uint32_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

inline void put_varint(std::string& to, std::uint64_t n) {
  for (; n >= 0x80; n >>= 7) to += static_cast<char>(n | 0x80);
  to += static_cast<char>(n);
}
inline void put_fixed(std::string& to, std::uint64_t n, int size = 8) {
  for (int i = 0; i < size; ++i, n >>= 8) to += static_cast<char>(n);
}
inline void put_bytes(std::string& to, std::uint32_t number, std::string_view value) {
  put_varint(to, number << 3 | bytes);
  put_varint(to, value.size());
  to += value;
}

struct item {
  std::uint32_t number = 0, type = 0;
  std::uint64_t value = 0;
  std::string_view data{};
};

class reader {
 public:
  explicit reader(std::string_view message) : left_(message) {}

  /// Returns false at the end, or if the message is damaged.
  bool next(item& to) {
    std::uint64_t tag = 0, size = 0;
    if (left_.empty()) return false;
    if (!take_varint(tag) || tag >> 3 == 0 || tag >> 32 != 0) return fail();
    to = {static_cast<std::uint32_t>(tag >> 3), static_cast<std::uint32_t>(tag & 7)};
    switch (to.type) {
      case varint:
        return take_varint(to.value) || fail();
      case fixed64:
        return take_fixed(to.value, 8) || fail();
      case fixed32:
        return take_fixed(to.value, 4) || fail();
      case bytes:
        if (!take_varint(size) || size > left_.size()) return fail();
        to.data = left_.substr(0, size);
        left_.remove_prefix(size);
        return true;
      default:
        return fail();
    }
  }
  bool damaged() const { return damaged_; }

  bool take_varint(std::uint64_t& to) {
    to = 0;
    for (unsigned shift = 0; shift < 70 && !left_.empty(); shift += 7) {
      auto const byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      if (shift < 64) to |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool take_fixed(std::uint64_t& to, std::size_t size) {
    if (left_.size() < size) return false;
    to = 0;
    for (std::size_t i = 0; i < size; ++i)
      to |= std::uint64_t{static_cast<unsigned char>(left_[i])} << 8 * i;
    left_.remove_prefix(size);
    return true;
  }
  bool at_end() const { return left_.empty(); }

 private:
  bool fail() {
    damaged_ = true;
    return false;
  }

  std::string_view left_;
  bool damaged_ = false;
};

template <class V>
concept number = std::is_integral_v<V> || std::is_enum_v<V> || std::is_same_v<V, float> ||
    std::is_same_v<V, core::duration> || std::is_same_v<V, core::time_point>;

template <class V>
std::uint64_t bits_of(V v) {
  if constexpr (std::is_same_v<V, core::duration>)
    return static_cast<std::uint64_t>(v.count());
  else if constexpr (std::is_same_v<V, core::time_point>)
    return static_cast<std::uint64_t>(v.time_since_epoch().count());
  else if constexpr (std::is_same_v<V, float>)
    return std::bit_cast<std::uint32_t>(v);
  else if constexpr (std::is_signed_v<V>)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
  else
    return static_cast<std::uint64_t>(v);
}
/// Sets `ok` to false if no enumerator has the number.
template <class V>
V from_bits(std::uint64_t bits, bool& ok) {
  if constexpr (std::is_same_v<V, core::duration>) {
    return core::duration(static_cast<std::int64_t>(bits));
  } else if constexpr (std::is_same_v<V, core::time_point>) {
    return core::time_point(core::duration(static_cast<std::int64_t>(bits)));
  } else if constexpr (std::is_same_v<V, float>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  } else if constexpr (named_enum<V>) {
    auto const e = enumerator_numbered<V>(static_cast<std::uint32_t>(bits));
    ok = ok && e;
    return e.value_or(V{});
  } else {
    if constexpr (sizeof(V) < 4 && !std::is_same_v<V, bool>)
      ok = ok && static_cast<std::uint64_t>(static_cast<V>(bits)) == bits;
    return static_cast<V>(bits);
  }
}

template <class V>
constexpr std::uint32_t type_of(core::field_facts const& f) {
  return std::is_same_v<V, float> ? fixed32 : f.fixed ? fixed64 : varint;
}
inline void put_bits(std::string& to, std::uint32_t type, std::uint64_t bits) {
  type == varint ? put_varint(to, bits) : put_fixed(to, bits, type == fixed64 ? 8 : 4);
}
inline void put_number(std::string& to, core::field_facts const& f, std::uint64_t bits) {
  put_varint(to, f.number << 3 | type_of<int>(f));
  put_bits(to, type_of<int>(f), bits);
}

// Types that are stored as another type. `entry_of(value)` converts to the stored type.
// `from_entry(entry, value)` converts back and returns whether the entry's numbers are in range.
template <class V>
concept converted = requires(V const& v) {
  entry_of(v);
};

template <class V>
inline constexpr bool is_optional = false;
template <class V>
inline constexpr bool is_optional<std::optional<V>> = true;
template <class V>
inline constexpr bool is_list = false;
template <class V>
inline constexpr bool is_list<std::vector<V>> = true;
// The flag's field number directly precedes the list's field number.
template <class V>
inline constexpr bool has_flag = false;
template <class V>
inline constexpr bool has_flag<std::optional<std::vector<V>>> = true;
// The encoding's field number directly follows the blob's field number.
template <class V>
inline constexpr bool has_encoding =
    std::is_same_v<V, core::blob> || std::is_same_v<V, std::optional<core::blob>>;
template <class V>
inline constexpr bool is_pair = false;
template <class V>
inline constexpr bool is_pair<std::pair<std::string, V>> = true;

}  // namespace entry

template <core::described T>
void encode_entry(T const& of, std::string& to);
/// Decodes a struct. Absent fields become empty, zero or false. Skips unknown fields. Sets
/// `in_range` to false if no enumerator has a number that was read. Returns false if the bytes are
/// damaged.
template <core::described T>
bool decode_entry(std::string_view bytes, T& into, bool& in_range);

namespace entry {

template <class V>
std::string encoded_pair(std::pair<std::string, V> const& p) {
  std::string to;
  if (!p.first.empty()) put_bytes(to, 1, p.first);
  if constexpr (std::is_same_v<V, std::string>) {
    if (!p.second.empty()) put_bytes(to, 2, p.second);
  } else if constexpr (std::is_same_v<V, std::uint16_t>) {
    put_bytes(to, 2, std::to_string(p.second));
  } else if (p.second != 0) {
    put_number(to, {.number = 3}, p.second);
  }
  return to;
}

inline std::string text_of(core::field_facts const& f, std::string_view data) {
  return f.bytes || is_utf8(data) ? std::string(data) : to_utf8(data);
}

template <class V>
bool decode_pair(core::field_facts const& f, std::string_view data, std::pair<std::string, V>& into,
                 bool& in_range) {
  reader r(data);
  [[maybe_unused]] std::string_view digits;
  for (item i; r.next(i);) {
    if (i.number == 1 && i.type == bytes) into.first = text_of(f, i.data);
    if constexpr (std::is_same_v<V, std::string>) {
      if (i.number == 2 && i.type == bytes) into.second = text_of(f, i.data);
    } else if constexpr (std::is_same_v<V, std::uint16_t>) {
      if (i.number == 2 && i.type == bytes) digits = i.data;
    } else if (i.number == 3 && i.type == varint) {
      into.second = static_cast<V>(i.value);
    }
  }
  if constexpr (std::is_same_v<V, std::uint16_t>)
    in_range = in_range &&
               std::from_chars(digits.data(), digits.data() + digits.size(), into.second).ec ==
                   std::errc() &&
               into.second > 0;
  return !r.damaged();
}

template <class V>
void put_columns(std::string& to, std::vector<V> const& rows) {
  core::each_stored<V>([&](auto const& f) {
    std::string packed;
    for (auto const& row : rows) put_bits(packed, type_of<int>(f), bits_of(f.get(row)));
    if (!packed.empty()) put_bytes(to, f.number, packed);
  });
}

template <class V>
void put_value(std::string& to, core::field_facts const& f, V const& value) {
  if constexpr (number<V>) {
    auto const bits = bits_of(value);
    if (f.can_be_absent ? bits != f.absent : bits != 0) put_number(to, f, bits);
  } else if constexpr (std::is_same_v<V, std::string>) {
    if (!value.empty()) put_bytes(to, f.number, value);
  } else if constexpr (std::is_same_v<V, core::blob>) {
    if (value.size() > 0) put_bytes(to, f.number, value.view());
    put_value(to, {.number = f.number + 1}, value.encoding());
  } else if constexpr (converted<V>) {
    put_value(to, f, entry_of(value));
  } else if constexpr (core::described<V>) {
    std::string message;
    encode_entry(value, message);
    put_bytes(to, f.number, message);
  } else if constexpr (is_pair<V>) {
    put_bytes(to, f.number, encoded_pair(value));
  } else if constexpr (is_list<V>) {
    using element = typename V::value_type;
    if constexpr (core::in_columns<element>) {
      put_columns(to, value);
    } else if constexpr (number<element>) {
      std::string packed;
      for (auto const one : value) put_bits(packed, type_of<element>(f), bits_of(one));
      if (!packed.empty()) put_bytes(to, f.number, packed);
    } else if constexpr (std::is_same_v<element, std::string>) {
      for (auto const& one : value) put_bytes(to, f.number, one);
    } else if constexpr (std::is_same_v<element, core::blob>) {
      for (auto const& one : value) put_bytes(to, f.number, one.view());
    } else {
      for (auto const& one : value) put_value(to, f, one);
    }
  } else {
    if (!value) return;
    using held = std::remove_cvref_t<decltype(*value)>;
    if constexpr (number<held>) {
      put_number(to, f, bits_of(*value));
    } else if constexpr (std::is_same_v<held, std::string>) {
      put_bytes(to, f.number, *value);
    } else {
      if constexpr (has_flag<V>) put_number(to, {.number = f.number - 1}, 1);
      put_value(to, f, *value);
    }
  }
}

// Skips a field of the wrong type. Returns false if the field is damaged.
template <class V>
bool take_value(core::field_facts const& f, item const& i, V& into, bool& in_range) {
  if constexpr (number<V>) {
    if (i.type == (f.fixed ? fixed64 : varint)) into = from_bits<V>(i.value, in_range);
  } else if constexpr (std::is_same_v<V, std::string>) {
    if (i.type == bytes) into = text_of(f, i.data);
  } else if constexpr (std::is_same_v<V, core::blob>) {
    auto as = into.encoding();
    if (i.number == f.number) {
      if (i.type == bytes) into = core::blob(i.data, as);
    } else if (i.type == varint) {
      as = from_bits<core::encoding>(i.value, in_range);
      if (as != into.encoding()) into = core::blob(into.view(), as);
    }
  } else if constexpr (converted<V>) {
    decltype(entry_of(into)) one{};
    if (i.type != bytes) return true;
    if (!decode_entry(i.data, one, in_range)) return false;
    in_range = from_entry(std::move(one), into) && in_range;
  } else if constexpr (core::described<V>) {
    return i.type != bytes || decode_entry(i.data, into, in_range);
  } else if constexpr (is_pair<V>) {
    return i.type != bytes || decode_pair(f, i.data, into, in_range);
  } else if constexpr (is_list<V>) {
    using element = typename V::value_type;
    if constexpr (core::in_columns<element>) {
      return true;
    } else if constexpr (number<element>) {
      constexpr auto size = std::is_same_v<element, float> ? 4 : 8;
      auto const type = type_of<element>(f);
      if (i.type != bytes) {
        if (i.type == type) into.push_back(from_bits<element>(i.value, in_range));
        return true;
      }
      reader r(i.data);
      for (std::uint64_t bits = 0; !r.at_end();) {
        if (!(type == varint ? r.take_varint(bits) : r.take_fixed(bits, size))) return false;
        into.push_back(from_bits<element>(bits, in_range));
      }
    } else if (i.type == bytes) {
      return take_value(f, i, into.emplace_back(), in_range);
    }
  } else {
    using held = std::remove_cvref_t<decltype(*into)>;
    if constexpr (number<held>) {
      if (i.type == (f.fixed ? fixed64 : varint)) into = from_bits<held>(i.value, in_range);
    } else if constexpr (has_flag<V>) {
      bool const is_flag = i.number != f.number;
      if (is_flag && i.value == 0) return true;
      if (!into) into.emplace();  // the flag and the list can be in any order
      return is_flag || take_value(f, i, *into, in_range);
    } else if (i.type == bytes || has_encoding<V>) {
      if constexpr (is_optional<V>) {
        if (!into) into.emplace();
        return take_value(f, i, *into, in_range);
      } else {
        auto one = std::make_shared<held>();
        auto const fine = take_value(f, i, *one, in_range);
        into = std::move(one);
        return fine;
      }
    }
  }
  return true;
}

// Reads rows that are encoded as parallel arrays. Reads as many rows as the shortest array has
// elements. Sets `in_range` to false if the arrays differ in length.
template <class V>
void take_columns(std::string_view message, std::vector<V>& rows, bool& in_range) {
  std::size_t shortest = ~std::size_t{0}, longest = 0;
  core::each_stored<V>([&](auto const& f) {
    std::vector<std::uint64_t> column;
    reader r(message);
    for (item i; r.next(i);)
      if (i.number == f.number) take_value(f, i, column, in_range);
    shortest = std::min(shortest, column.size());
    longest = std::max(longest, column.size());
    if (rows.size() < column.size()) rows.resize(column.size());
    for (std::size_t at = 0; at < column.size(); ++at) {
      auto& to = f.get(rows[at]);
      to = from_bits<std::remove_reference_t<decltype(to)>>(column[at], in_range);
    }
  });
  rows.resize(std::min(shortest, rows.size()));
  in_range = in_range && shortest == longest;
}

}  // namespace entry

template <core::described T>
void encode_entry(T const& of, std::string& to) {
  core::each_stored<T>([&](auto const& f) { entry::put_value(to, f, f.get(of)); });
}

// Sets all fields to zeros or empty values, not to the struct's defaults.
template <core::described T>
void clear_entry(T& into) {
  core::each_stored<T>([&](auto const& f) {
    auto& to = f.get(into);
    using value = std::remove_reference_t<decltype(to)>;
    bool any = true;
    if constexpr (entry::number<value>)
      to = entry::from_bits<value>(f.absent, any);
    else if constexpr (core::described<value>)
      clear_entry(to);
    else
      to = value{};
  });
}

template <core::described T>
bool decode_entry(std::string_view bytes, T& into, bool& in_range) {
  clear_entry(into);
  bool fine = true;
  entry::reader r(bytes);
  for (entry::item i; fine && r.next(i);)
    core::each_stored<T>([&](auto const& f) {
      using value = std::remove_reference_t<decltype(f.get(into))>;
      if (f.number == i.number || (entry::has_flag<value> && f.number == i.number + 1) ||
          (entry::has_encoding<value> && f.number + 1 == i.number))
        fine = entry::take_value(f, i, f.get(into), in_range);
    });
  if (!fine || r.damaged()) return false;
  core::each_stored<T>([&](auto const& f) {
    using value = std::remove_reference_t<decltype(f.get(into))>;
    if constexpr (entry::is_list<value>)
      if constexpr (core::in_columns<typename value::value_type>)
        entry::take_columns(bytes, f.get(into), in_range);
  });
  return true;
}

template <core::described T>
std::string encoded_entry(T const& of) {
  std::string to;
  encode_entry(of, to);
  return to;
}

}  // namespace muster::server::journal
