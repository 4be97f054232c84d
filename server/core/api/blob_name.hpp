// Values that refer to a blob. A large value is stored in the blob store under its SHA-256 digest.
// The value itself is then the short text `{"$blob":"<64 hexadecimal digits>","bytes":N}`.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include "server/core/api/blob.hpp"

namespace muster::core {

/// Maximum size of a reference. A longer value is treated as an ordinary value.
constexpr std::size_t blob_name_bytes_max = 1'024;

/// Returns whether a value begins like a blob reference.
inline bool names_blob(std::string_view value) {
  return value.size() > 64 && value.starts_with(R"({"$blob":")");
}

/// Returns the blob size that a reference states, or 0 if there is no reference or size.
inline std::uint64_t named_blob_bytes(std::string_view value) {
  constexpr std::string_view member = R"(","bytes":)";
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  constexpr std::size_t name_end = 10 + 64;
  if (!names_blob(value) || value.size() <= name_end || value.size() > blob_name_bytes_max ||
      value.substr(name_end, member.size()) != member)
    return 0;
  value.remove_prefix(name_end + member.size());
  std::uint64_t n = 0;
  auto const read = std::from_chars(value.data(), value.data() + value.size(), n);
  return read.ec == std::errc{} && n <= most ? n : 0;
}

/// Returns the size of the value or of the blob that it refers to.
inline std::uint64_t size_of_value(blob const& value) {
  auto const named = named_blob_bytes(value.view());
  return named > 0 ? named : value.size();
}

}  // namespace muster::core
