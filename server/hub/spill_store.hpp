// Values on the disk, for the core that says which: a thread of its own writes, reads and forgets
// them in the order in which it is asked.
//
// Values that wait together are written together, into one segment file of about 8 MiB that is
// complete before it gets its name. A segment goes when nothing in it is wanted any more; nothing
// is rewritten. Values have checksums. Nothing here survives the process: files of an earlier one
// are removed at the start, and a lock keeps two servers out of one directory.
//
// What waits is bounded by those who ask: the core has no more bytes on their way than its memory
// may hold and reads 64 values at one time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "server/core/api/effects.hpp"
#include "server/disk/own_files.hpp"
#include "server/disk/store_thread.hpp"

namespace muster::server {

class spill_store {
 public:
  static constexpr std::size_t segment_bytes = std::size_t{8} << 20;

  /// Gets the answers, from the store's thread; none after `stop`.
  using answer_handler = std::function<void(core::values_moved)>;

  spill_store();
  ~spill_store() { stop(); }
  spill_store(spill_store const&) = delete;

  /// Makes the directory ready and starts the thread. Errors: FAILED_PRECONDITION, in one line with
  /// the directory and the system's reason; then nothing runs.
  muster::status start(std::filesystem::path directory, answer_handler on_answer);
  /// Any thread. Does nothing before `start` and after `stop`.
  void ask(std::vector<core::value_move> moves) { thread_.ask(std::move(moves)); }
  /// Finishes the operation that is under way, ends the thread and removes the files.
  void stop();

 private:
  struct place {
    std::uint64_t segment = 0;
    std::uint64_t offset = 0;
    std::uint32_t size = 0;
    std::uint32_t checksum = 0;
    core::encoding encoding = core::encoding::json;
  };

  void perform(std::span<core::value_move> moves);
  /// As one segment; the answers.
  core::values_moved write(std::span<core::value_move const> moves);
  int write_segment(std::span<core::value_move const> moves);
  core::value_moved read(core::closure_id id) const;
  void forget(core::closure_id id);

  answer_handler on_answer_;

  // the store's thread, while that runs
  own_files files_;
  std::unordered_map<core::closure_id, place> places_;
  std::unordered_map<std::uint64_t, std::uint32_t> live_;  // values wanted, by segment
  std::uint64_t last_segment_ = 0;

  store_thread<core::value_move> thread_;
};

}  // namespace muster::server
