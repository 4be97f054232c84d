// Values that are a name: a large one lies in the blob store under its SHA-256 and is, wherever
// values go, the short text `{"$blob":"<64 hexadecimal digits>","bytes":N}`. People want to know
// how large it is, not how long its name is. Pure functions of a value's text.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include "server/core/api/blob.hpp"

namespace muster::core {

/// Names are short. What is longer is a value like others, though it may name a blob as well.
constexpr std::size_t blob_name_bytes_max = 1'024;

/// Whether a value's text may name one.
inline bool names_blob(std::string_view value) {
  return value.size() > 64 && value.starts_with(R"({"$blob":")");
}

/// The bytes of the blob that a value is the name of, as it says; 0: it is none, or does not say.
inline std::uint64_t named_blob_bytes(std::string_view value) {
  constexpr std::string_view member = R"(","bytes":)";
  constexpr std::uint64_t most = std::uint64_t{1} << 40;  // more than any blob may have
  constexpr std::size_t name_end = 10 + 64;
  if (!names_blob(value) || value.size() <= name_end || value.size() > blob_name_bytes_max ||
      value.substr(name_end, member.size()) != member)
    return 0;
  value.remove_prefix(name_end + member.size());
  std::uint64_t n = 0;
  auto const read = std::from_chars(value.data(), value.data() + value.size(), n);
  return read.ec == std::errc{} && n <= most ? n : 0;
}

/// How large a value is: its own bytes, or those of the blob that it names.
inline std::uint64_t size_of_value(blob const& value) {
  auto const named = named_blob_bytes(value.view());
  return named > 0 ? named : value.size();
}

}  // namespace muster::core
