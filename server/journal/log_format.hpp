// How RocksDB's logs (NNNNNN.log, MANIFEST-NNNNNN) lie on the disk: records in blocks of 32 KiB,
// each with its checksum. RocksDB takes a last record that it cannot read to its end for one that a
// kill tore off, and drops it without a word; this tells a torn one from a damaged one, and says
// where. Pure: bytes come from whoever calls.
#pragma once

#include <cstdint>
#include <functional>

namespace muster::server::journal {

struct log_end {
  enum class kind : std::uint8_t {
    whole,
    torn,     ///< the last record has not all of its bytes; what stands before it is whole
    damaged,  ///< a record is not as it was written
  };
  kind what = kind::whole;
  std::uint64_t at = 0;  ///< the byte with which the first unreadable record begins
  std::uint64_t missing =
      0;  ///< so many bytes at least, by what there is of it; 0: that is unknown
};

/// Reads the next bytes of the file; fewer than were asked for: it ends there.
using log_reader = std::function<std::size_t(char* into, std::size_t n)>;

/// `checksums` false: as fast as it can be read, for whoever leaves whole records to RocksDB.
log_end walk_log(log_reader const& read, bool checksums = true);

}  // namespace muster::server::journal
