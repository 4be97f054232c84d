// Reads RocksDB's logs (NNNNNN.log, MANIFEST-NNNNNN): records in blocks of 32 KiB, each with a
// checksum. RocksDB silently drops an incomplete last record. These functions distinguish torn
// records from damaged records. The functions are pure.
#pragma once

#include <cstdint>
#include <functional>

namespace muster::server::journal {

struct log_end {
  enum class kind : std::uint8_t {
    whole,
    torn,  ///< the last record is incomplete; all earlier records are intact
    damaged,
  };
  kind what = kind::whole;
  std::uint64_t at = 0;       ///< offset of the first unreadable record
  std::uint64_t missing = 0;  ///< minimum number of missing bytes; 0 if unknown
};

/// Returns fewer than `n` bytes only at the end.
using log_reader = std::function<std::size_t(char* into, std::size_t n)>;

/// `checksums` can be false to save time if RocksDB will verify intact records later.
log_end walk_log(log_reader const& read, bool checksums = true);

}  // namespace muster::server::journal
