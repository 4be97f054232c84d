// Fuzzes the search for damage in RocksDB's logs, which `muster data` does before it opens a data
// directory. The input is a list of steps that write a log: complete records, bytes, zeros and
// changed bits. Its first two bytes say where the log is cut.
//
// Checked properties:
// - A log of complete records is whole. If it is cut, it is whole or torn, and not damaged.
// - A position is within the log, and all records before it are complete.
// - Without checksums, the result is the same unless a checksum is wrong.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/journal/log_format.hpp"
#include "tests/fuzz/input_reader.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using fuzz::require;
using muster::server::journal::log_end;
using kind = log_end::kind;

constexpr std::size_t block_bytes = 32'768, header_bytes = 7, log_bytes_max = 70'000;

// A CRC-32C, which RocksDB stores with rotated bits.
class checksum {
 public:
  void add(char c) { crc_ = table[(crc_ ^ static_cast<unsigned char>(c)) & 0xff] ^ crc_ >> 8; }
  std::uint32_t stored() const {
    auto const crc = ~crc_;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
  }

 private:
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t i = 0; i < t.size(); ++i) {
      t[i] = i;
      for (int bit = 0; bit < 8; ++bit) t[i] = t[i] >> 1 ^ ((t[i] & 1) != 0 ? 0x82f63b78u : 0);
    }
    return t;
  }();

  std::uint32_t crc_ = ~0u;
};

class log_writer {
 public:
  std::string const& log() const { return log_; }
  /// Returns whether the log consists of complete records.
  bool is_intact() const { return intact_; }

  void add_record(std::size_t bytes, unsigned first_byte) {
    for (bool begins = true, ends = false; !ends; begins = false) {
      auto room = block_bytes - log_.size() % block_bytes;
      if (room < header_bytes) log_.append(room, '\0');
      if (room < header_bytes) room = block_bytes;
      auto const size = std::min(bytes, room - header_bytes);
      bytes -= size;
      ends = bytes == 0;
      add_part(begins ? (ends ? full : first) : (ends ? last : middle), size, first_byte);
    }
  }
  void add_bytes(std::string_view bytes) {
    if (!bytes.empty()) intact_ = false;
    log_ += bytes;
  }
  void change_bit(std::size_t at, unsigned bit) {
    if (log_.empty()) return;
    intact_ = false;
    auto& c = log_[at % log_.size()];
    c = static_cast<char>(c ^ (1 << bit % 8));
  }

 private:
  enum part_type : char { full = 1, first = 2, middle = 3, last = 4 };

  void add_part(part_type type, std::size_t size, unsigned first_byte) {
    std::string checked(1, type);
    for (std::size_t i = 0; i < size; ++i) checked += static_cast<char>(first_byte + i * i);
    checksum sum;
    for (char const c : checked) sum.add(c);
    for (unsigned shift = 0; shift < 32; shift += 8)
      log_ += static_cast<char>(sum.stored() >> shift);
    log_ += static_cast<char>(size);
    log_ += static_cast<char>(size >> 8);
    log_ += checked;
  }

  std::string log_;
  bool intact_ = true;
};

log_writer written(fuzz::input_reader& input) {
  log_writer w;
  while (!input.at_end() && w.log().size() < log_bytes_max) {
    auto const step = input.byte();
    auto const argument = step >> 2;
    if (step % 4 == 0)
      w.add_record(std::min<std::size_t>(input.two_bytes(), block_bytes + 100), argument);
    else if (step % 4 == 1)
      w.add_bytes(input.piece(argument));
    else if (step % 4 == 2)
      w.add_bytes(std::string(std::min<std::size_t>(input.two_bytes(), block_bytes), '\0'));
    else
      w.change_bit(input.two_bytes(), argument);
  }
  return w;
}

log_end end_of(std::string_view log, bool checksums) {
  auto const read = [&log](char* into, std::size_t n) {
    n = std::min(n, log.size());
    std::copy_n(log.begin(), n, into);
    log.remove_prefix(n);
    return n;
  };
  return muster::server::journal::walk_log(read, checksums);
}

bool same(log_end const& a, log_end const& b) {
  return a.what == b.what && a.at == b.at && a.missing == b.missing;
}

log_end check(std::string_view log) {
  auto const end = end_of(log, true), without = end_of(log, false);
  require(end.what == kind::damaged || same(end, without), "checksums only find damage");
  if (end.what == kind::whole) {
    require(end.at == 0 && end.missing == 0, "a whole log has no position");
    return end;
  }
  require(end.at < log.size(), "the position is within the log");
  auto const before = end_of(log.substr(0, end.at), true);
  require(before.what != kind::damaged, "the records before the position are complete");
  require(before.what == kind::whole || end.what == kind::damaged,
          "a log is whole up to its torn record");
  return end;
}

// Returns whether the checksum of the record also matches a shorter record, which happens by
// chance. A record that is cut then looks like one with a wrong length.
bool matches_shorter_record(std::string_view record) {
  if (record.size() < header_bytes) return false;
  std::uint32_t stored = 0;
  for (std::size_t i = 4; i-- > 0;) stored = stored << 8 | static_cast<unsigned char>(record[i]);
  checksum sum;
  for (char const c : record.substr(header_bytes - 1)) {
    sum.add(c);
    if (sum.stored() == stored) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::input_reader input(data, size);
  auto const cut = input.two_bytes();
  auto const made = written(input);
  std::string_view const log = made.log();
  auto const end = check(log);
  if (made.is_intact()) require(end.what == kind::whole, "a log of complete records is whole");
  if (log.empty()) return 0;
  auto const part = log.substr(0, cut % log.size());
  auto const part_end = check(part);
  if (made.is_intact() && part_end.what == kind::damaged)
    require(matches_shorter_record(part.substr(part_end.at)),
            "a log that is cut is torn, and not damaged");
  return 0;
}
