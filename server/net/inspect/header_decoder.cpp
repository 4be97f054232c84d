#include "server/net/inspect/header_decoder.hpp"

#include <array>
#include <utility>

namespace muster::net {
namespace {

constexpr std::size_t symbols = 257, end_of_string = 256, longest_code = 30;

// Code length of each symbol in bits (RFC 7541, appendix B). Codes of equal length are consecutive
// in symbol order, so the lengths define the codes.
constexpr std::array<unsigned char, symbols> code_bits{
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6,  10, 10, 12, 13, 6,  8,  11, 10, 10, 8,  11, 8,  6,  6,  6,
    5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8,  15, 6,  12, 10, 13, 6,  7,  7,  7,  7,  7,  7,
    7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8,  13, 19, 13, 14, 6,
    15, 5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,  6,  7,  6,  5,  5,  6,  7,  7,
    7,  7,  7,  15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
    23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
    21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30};

// Name length of each static table entry (RFC 7541, appendix A). Entry 23 is `authorization`.
constexpr std::array<unsigned char, 61> static_name_bytes{
    10, 7,  7,  5,  5,  7,  7,  7,  7,  7,  7,  7, 7,  7,  14, 15, 15, 13, 6,  27, 3,
    5,  13, 13, 19, 16, 16, 14, 16, 13, 12, 6,  4, 4,  6,  7,  4,  4,  8,  17, 13, 8,
    19, 13, 4,  8,  12, 18, 19, 5,  7,  7,  11, 6, 10, 25, 17, 10, 4,  3,  16};
constexpr std::size_t static_authorization = 23;
constexpr std::string_view authorization = "authorization";
constexpr std::size_t entry_overhead = 32;

struct huffman_table {
  std::array<std::uint32_t, longest_code + 1> first_code{}, first_symbol{}, count{};
  std::array<std::uint16_t, symbols> by_code{};

  constexpr huffman_table() {
    for (auto const bits : code_bits) ++count[bits];
    std::uint32_t code = 0, position = 0;
    for (std::size_t bits = 1; bits <= longest_code; ++bits) {
      code <<= 1;
      first_code[bits] = code;
      first_symbol[bits] = position;
      for (std::size_t s = 0; s < symbols; ++s)
        if (code_bits[s] == bits) by_code[position++] = static_cast<std::uint16_t>(s);
      code += count[bits];
    }
  }
};
constexpr huffman_table huffman;

}  // namespace

std::optional<std::string> decode_huffman(std::string_view coded) {
  std::string text;
  std::uint32_t code = 0;
  std::size_t bits = 0;
  for (char const c : coded)
    for (int bit = 7; bit >= 0; --bit) {
      code = code << 1 | (static_cast<unsigned char>(c) >> bit & 1U);
      ++bits;
      auto const offset = code - huffman.first_code[bits];
      if (code >= huffman.first_code[bits] && offset < huffman.count[bits]) {
        auto const symbol = huffman.by_code[huffman.first_symbol[bits] + offset];
        if (symbol == end_of_string) return {};
        text += static_cast<char>(symbol);
        code = 0, bits = 0;
      } else if (bits == longest_code) {
        return {};
      }
    }
  return text;  // up to seven remaining bits are padding
}

// Every read fails at the end of the block.
class header_decoder::input {
 public:
  explicit input(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  unsigned char peek() const { return static_cast<unsigned char>(rest_.front()); }

  // Reads an integer (RFC 7541, section 5.1). `prefix` is in bits.
  std::optional<std::size_t> integer(int prefix) {
    constexpr std::size_t largest = 1 << 24;
    if (empty()) return {};
    std::size_t const mask = (1U << prefix) - 1;
    std::size_t value = take() & mask;
    if (value < mask) return value;
    for (int shift = 0; !empty() && shift <= 21; shift += 7) {
      auto const byte = take();
      value += static_cast<std::size_t>(byte & 0x7fU) << shift;
      if (value > largest) return {};
      if ((byte & 0x80U) == 0) return value;
    }
    return {};
  }

  struct text {
    std::string_view bytes;
    bool is_coded = false;
    std::optional<std::string> plain() const {
      return is_coded ? decode_huffman(bytes) : std::string(bytes);
    }
    // Only values of `authorization` are decoded.
    std::optional<std::size_t> plain_bytes() const {
      if (!is_coded) return bytes.size();
      auto const decoded = decode_huffman(bytes);
      return decoded ? std::optional(decoded->size()) : std::nullopt;
    }
  };
  std::optional<text> string() {
    if (empty()) return {};
    bool const coded = (peek() & 0x80U) != 0;
    auto const length = integer(7);
    if (!length || *length > rest_.size()) return {};
    text const t{rest_.substr(0, *length), coded};
    rest_.remove_prefix(*length);
    return t;
  }

 private:
  unsigned char take() {
    auto const byte = peek();
    rest_.remove_prefix(1);
    return byte;
  }
  std::string_view rest_;
};

bool header_decoder::decode(std::string_view block,
                            std::function<void(std::string_view)> const& found) {
  for (input in(block); !malformed_ && !in.empty();) malformed_ = !decode_field(in, found);
  return !malformed_;
}

// Decodes a field (RFC 7541, section 6). Returns false if the field is malformed.
bool header_decoder::decode_field(input& in, std::function<void(std::string_view)> const& found) {
  auto const kind = in.peek();
  if (kind & 0x80U) {
    auto const index = in.integer(7);
    if (!index || !name_of(*index)) return false;
    if (*index <= static_name_bytes.size()) return true;
    auto const& e = table_[*index - static_name_bytes.size() - 1];
    if (e.is_authorization) found(e.value);
    return true;
  }
  if ((kind & 0xe0U) == 0x20U) {  // size update of the dynamic table
    auto const limit = in.integer(5);
    if (!limit || *limit > table_bytes_max) return false;
    table_limit_ = *limit;
    evict_to(table_limit_);
    return true;
  }
  bool const inserts = (kind & 0x40U) != 0;
  auto const index = in.integer(inserts ? 6 : 4);
  auto const name = index ? read_name(in, *index) : std::nullopt;
  auto const value = name ? in.string() : std::nullopt;
  if (!value) return false;
  if (!name->is_authorization && !inserts) return true;
  if (!name->is_authorization) {
    auto const bytes = value->plain_bytes();
    if (bytes) insert({name->bytes + *bytes + entry_overhead, false, name->bytes});
    return bytes.has_value();
  }
  auto plain = value->plain();
  if (!plain) return false;
  found(*plain);
  auto const bytes = name->bytes + plain->size() + entry_overhead;
  if (inserts) insert({bytes, true, name->bytes, std::move(*plain)});
  return true;
}

std::optional<header_decoder::field_name> header_decoder::name_of(std::size_t index) const {
  if (index == 0) return {};
  if (index <= static_name_bytes.size())
    return field_name{index == static_authorization, static_name_bytes[index - 1]};
  auto const at = index - static_name_bytes.size() - 1;
  if (at >= table_.size()) return {};
  return field_name{table_[at].is_authorization, table_[at].name_bytes};
}

std::optional<header_decoder::field_name> header_decoder::read_name(input& in,
                                                                    std::size_t index) const {
  if (index != 0) return name_of(index);
  auto const name = in.string();
  auto const plain = name ? name->plain() : std::nullopt;
  if (!plain) return {};
  return field_name{*plain == authorization, plain->size()};
}

void header_decoder::insert(entry e) {
  if (e.bytes > table_limit_) return evict_to(0);
  evict_to(table_limit_ - e.bytes);
  table_bytes_ += e.bytes;
  table_.push_front(std::move(e));
}

void header_decoder::evict_to(std::size_t bytes) {
  while (table_bytes_ > bytes) {
    table_bytes_ -= table_.back().bytes;
    table_.pop_back();
  }
}

}  // namespace muster::net
