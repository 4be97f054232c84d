// Datasets whose splits the server distributes: requests, replies and views. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/ids.hpp"
#include "server/core/api/objects.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

/// The id of a dataset (`ds_…`), from the same sequence as object ids.
enum class dataset_id : std::uint64_t {};

std::string text(dataset_id id);

namespace datasets {

/// Limits of datasets. Each states what happens at the limit.
struct dataset_limits {
  std::size_t datasets_max = 1'000;           // above it, refused
  std::size_t splits_max = 100'000;           // of one dataset; above it, refused
  std::size_t split_bytes_max = 64u << 10;    // of one split; above it, refused
  std::size_t dataset_bytes_max = 16u << 20;  // of all splits of one dataset; above it, refused
  std::size_t split_overhead = 64;            // bytes counted for each split in addition to its own
  std::size_t bytes_max = 256u << 20;  // of all datasets, including the overhead; above it, refused
  std::uint32_t epochs_max = 1'000'000;  // above it, refused
  std::size_t name_bytes_max = 256;      // above it, refused
  std::size_t workers_max = 1'000;  // counted individually; further ones are counted as "others"
};

/// The progress of a dataset: the current epoch and its finished splits. If `epoch` equals the
/// number of epochs, the dataset is finished and `done` is empty.
struct position {
  std::uint32_t epoch = 0;
  std::vector<std::uint32_t> done{};  // ascending

  bool operator==(position const&) const = default;
};

struct dataset_spec {
  std::string name{};  // for people; may be empty
  std::vector<std::string> splits{};
  std::uint32_t epochs = 1;
  position at{};
};

inline constexpr std::uint32_t any_epoch = ~0u;

/// A closure's request for the next split.
struct draw_request {
  closure_id closure{};
  std::uint32_t attempt = 0;
  std::uint32_t epoch = any_epoch;
  bool whole = false;                   // a split counts as done when it is drawn
  std::vector<std::uint32_t> passed{};  // splits that it has read to their end
  // The closure was asked to stop, as reported by another source; it gets the end.
  bool stops = false;

  bool operator==(draw_request const&) const = default;
};
/// Parses the arguments of a call; see ObjectRequests.args. Returns nothing if they are not those
/// of a draw.
std::optional<draw_request> draw_from(std::string_view args);
/// Parses a position. Returns nothing if it is invalid.
std::optional<position> position_from(std::string_view args);

struct worker_part {
  std::uint64_t drawn = 0;  // now
  std::uint64_t done = 0;   // since the beginning
};

/// The progress of a dataset in numbers.
struct dataset_counts {
  std::uint32_t epoch = 0;  // current, from 0; the number of epochs: finished
  std::uint64_t splits = 0;
  std::uint64_t queued = 0, drawn = 0, done = 0;  // of the epoch
  std::uint64_t waiting = 0;                      // draws
};

/// Sums over all datasets.
struct dataset_totals {
  std::uint64_t datasets = 0;
  std::uint64_t queued = 0, drawn = 0, done = 0;  // splits of current epochs
  std::uint64_t waiting = 0;                      // draws
  std::uint64_t done_ever = 0, given_back_ever = 0;

  dataset_totals& operator+=(dataset_totals const& o) {
    datasets += o.datasets, waiting += o.waiting;
    queued += o.queued, drawn += o.drawn, done += o.done;
    done_ever += o.done_ever, given_back_ever += o.given_back_ever;
    return *this;
  }
};

struct dataset_view {
  dataset_id id{};
  std::string name{};
  session_id owner{};
  std::string submitter{};  // id of a token; empty: without authentication
  time_point created{};
  std::uint32_t epochs = 0, epoch = 0;  // `epoch`: current, from 0; equal to `epochs`: finished
  std::uint64_t splits = 0;
  std::uint64_t queued = 0, drawn = 0, done = 0;  // of the epoch
  std::uint64_t waiting = 0;                      // draws
  std::uint64_t given_back = 0;                   // since the beginning
  std::map<std::string, worker_part> workers{};
};

}  // namespace datasets
}  // namespace muster::core
