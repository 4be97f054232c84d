#include "server/journal/log_format.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace muster::server::journal {
namespace {

constexpr std::size_t block_bytes = 32768;
// Checksum, payload length and type. Recycled logs have longer headers, but are not used here.
constexpr std::size_t checksum_bytes = 4, header_bytes = 7;
enum : unsigned { first_type = 2, middle_type = 3 };

unsigned byte(char c) {
  return static_cast<unsigned char>(c);
}

std::uint32_t extended(std::uint32_t crc, char c) {
  static auto const table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t i = 0; i < t.size(); ++i) {
      t[i] = i;
      for (int bit = 0; bit < 8; ++bit) t[i] = t[i] >> 1 ^ (t[i] & 1 ? 0x82f63b78u : 0);
    }
    return t;
  }();
  return table[(crc ^ byte(c)) & 0xff] ^ crc >> 8;
}

// RocksDB masks checksums because it computes checksums of data that contains checksums.
std::uint32_t masked(std::uint32_t crc) {
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

std::uint32_t stored_in(std::string_view record) {
  return byte(record[0]) | byte(record[1]) << 8 | byte(record[2]) << 16 | byte(record[3]) << 24;
}

// Returns whether the checksum matches all bytes, or a prefix of at least `at_least` bytes.
bool has_checksum(std::string_view record, std::size_t at_least) {
  auto const stored = stored_in(record);
  std::uint32_t crc = ~0u;
  for (std::size_t i = checksum_bytes + 2; i < record.size(); ++i) {
    crc = extended(crc, record[i]);
    if (i + 1 >= at_least && masked(crc) == stored) return true;
  }
  return false;
}

struct step {
  std::size_t bytes = 0;
  log_end::kind what = log_end::kind::whole;
  bool goes_on = false;  // a fragment that continues in the next block
  std::size_t missing = 0;
};

// Reads the first record of the rest of a block. If `last` is set, the rest ends the log.
step next(std::string_view rest, bool last, bool checksums) {
  using kind = log_end::kind;
  auto const unfinished = last ? kind::torn : kind::damaged;
  if (rest.size() < header_bytes) return {0, unfinished};
  auto const length = byte(rest[4]) | byte(rest[5]) << 8;
  auto const type = byte(rest[6]);
  if (length == 0 && type == 0) return {0, unfinished};  // space that was never written
  if (auto const bytes = header_bytes + length; bytes <= rest.size())
    return {bytes,
            !checksums || has_checksum(rest.substr(0, bytes), bytes) ? kind::whole : kind::damaged,
            type == first_type || type == middle_type};
  // The record is truncated, or its length is wrong and a shorter prefix matches the checksum.
  if (has_checksum(rest, header_bytes)) return {0, kind::damaged};
  return {0, unfinished, false, header_bytes + length - rest.size()};
}

bool all_zero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
}

}  // namespace

log_end walk_log(log_reader const& read, bool checksums) {
  using kind = log_end::kind;
  std::vector<char> now(block_bytes), ahead(block_bytes);
  std::uint64_t begin = 0;
  std::optional<std::uint64_t> first;  // start of a record that continues in the next block
  // The file system may have reserved this space before a power failure.
  std::optional<std::uint64_t> zeros;
  auto have = read(now.data(), block_bytes);
  while (have > 0) {
    auto const following = have == block_bytes ? read(ahead.data(), block_bytes) : 0;
    std::string_view rest(now.data(), have);
    while (!rest.empty()) {
      auto const at = begin + have - rest.size();
      if (all_zero(rest)) {
        // A full block's rest can be too short for a header.
        bool const filler = have == block_bytes && rest.size() < header_bytes;
        if (!filler && !zeros) zeros = at;
        break;
      }
      auto const s = next(rest, following == 0, checksums);
      if (zeros && s.what != kind::torn) return {kind::damaged, *zeros};
      if (s.what == kind::torn) return {s.what, first.value_or(zeros.value_or(at)), s.missing};
      if (s.what == kind::damaged) return {s.what, at};
      if (!s.goes_on)
        first.reset();
      else if (!first)
        first = at;
      rest.remove_prefix(s.bytes);
    }
    begin += have;
    have = following;
    std::swap(now, ahead);
  }
  if (first) return {kind::torn, *first};
  return zeros ? log_end{kind::torn, *zeros} : log_end{};
}

}  // namespace muster::server::journal
