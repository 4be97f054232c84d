// Values of the core that are spilled to disk. A thread writes, reads and deletes them in the order
// of the requests.
//
// Values that are queued together are written into a segment file of about 8 MiB, which is renamed
// when complete. A segment is deleted with its last value and never rewritten. Values have
// checksums. `start` removes an earlier process's files. A lock prevents two servers from using one
// directory.
//
// The core limits the length of the queue: pending bytes do not exceed its memory limit, and it
// reads at most 64 values at a time.
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

  /// Called with the answers on the store's thread. Not called after `stop`.
  using answer_handler = std::function<void(core::values_moved)>;

  spill_store();
  ~spill_store() { stop(); }
  spill_store(spill_store const&) = delete;

  /// Returns FAILED_PRECONDITION, with the directory and the system's reason in one line, if the
  /// directory cannot be used.
  muster::status start(std::filesystem::path directory, answer_handler on_answer);
  /// Thread-safe. Has no effect before `start` and after `stop`.
  void ask(std::vector<core::value_move> moves) { thread_.ask(std::move(moves)); }
  /// Finishes the current operation, stops the thread and removes the files.
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
  core::values_moved write(std::span<core::value_move const> moves);
  int write_segment(std::span<core::value_move const> moves);
  core::value_moved read(core::closure_id id) const;
  void forget(core::closure_id id);

  answer_handler on_answer_;

  // The following members are used only by the store's thread while it runs.
  own_files files_;
  std::unordered_map<core::closure_id, place> places_;
  std::unordered_map<std::uint64_t, std::uint32_t> live_;  // number of values in each segment
  std::uint64_t last_segment_ = 0;

  store_thread<core::value_move> thread_;
};

}  // namespace muster::server
