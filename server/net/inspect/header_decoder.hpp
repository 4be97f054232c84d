// Finds the `authorization` field in an HTTP/2 connection's header blocks (HPACK, RFC 7541).
// Decodes other fields only if later blocks depend on them. Pure; each connection has its own
// object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace muster::net {

class header_decoder {
 public:
  /// @param found Called with the value of each `authorization` field.
  /// @return false if this block or an earlier one was malformed
  bool decode(std::string_view block, std::function<void(std::string_view)> const& found);

  [[nodiscard]] std::size_t table_bytes() const noexcept { return table_bytes_; }

  /// SETTINGS_HEADER_TABLE_SIZE of a gRPC server: the default of RFC 9113.
  static constexpr std::size_t table_bytes_max = 4'096;

 private:
  struct entry {
    std::size_t bytes = 0;
    bool is_authorization = false;
    std::size_t name_bytes = 0;
    std::string value = {};
  };
  struct field_name {
    bool is_authorization = false;
    std::size_t bytes = 0;
  };
  class input;

  bool decode_field(input& in, std::function<void(std::string_view)> const& found);
  std::optional<field_name> name_of(std::size_t index) const;
  std::optional<field_name> read_name(input& in, std::size_t index) const;
  void insert(entry e);
  void evict_to(std::size_t bytes);

  std::deque<entry> table_;  // newest first; at most table_limit_ bytes
  std::size_t table_bytes_ = 0;
  std::size_t table_limit_ = table_bytes_max;
  bool malformed_ = false;
};

/// Decodes a Huffman-coded HPACK string. Returns nothing if it contains the end-of-string symbol.
std::optional<std::string> decode_huffman(std::string_view coded);

}  // namespace muster::net
