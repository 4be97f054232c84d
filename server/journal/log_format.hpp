// Reads RocksDB's logs (NNNNNN.log, MANIFEST-NNNNNN): records in blocks of 32 KiB, each with a
// checksum. RocksDB drops an incomplete last record silently, as torn by a kill. This code
// distinguishes torn from damaged records. Pure functions.
#pragma once

#include <cstdint>
#include <functional>

namespace muster::server::journal {

struct log_end {
  enum class kind : std::uint8_t {
    whole,
    torn,     ///< the last record is incomplete; everything before it is intact
    damaged,  ///< the content of a record has changed
  };
  kind what = kind::whole;
  std::uint64_t at = 0;       ///< offset of the first unreadable record
  std::uint64_t missing = 0;  ///< minimum number of missing bytes; 0: unknown
};

/// Reads the next bytes of the file. Returns fewer than `n` only at the end.
using log_reader = std::function<std::size_t(char* into, std::size_t n)>;

/// Checks a log. `checksums` false: skips checksums for speed, if RocksDB verifies intact records
/// later.
log_end walk_log(log_reader const& read, bool checksums = true);

}  // namespace muster::server::journal
