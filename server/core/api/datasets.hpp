// Datasets: declarations of clients, and the results of requests for splits.
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

/// Dataset id (`ds_…`), from the same sequence as object ids.
enum class dataset_id : std::uint64_t {};

std::string text(dataset_id id);

namespace datasets {

/// A request that exceeds a limit is refused, unless stated otherwise.
struct dataset_limits {
  std::size_t datasets_max = 1'000;
  std::size_t splits_max = 100'000;
  std::size_t split_bytes_max = 64u << 10;
  std::size_t dataset_bytes_max = 16u << 20;
  std::size_t split_overhead = 64;  // bytes that are added for each split
  std::size_t bytes_max = 256u << 20;
  std::uint32_t epochs_max = 1'000'000;
  std::size_t name_bytes_max = 256;
  std::size_t workers_max = 1'000;  // maximum number of workers that are counted individually;
                                    // further workers are counted as "others"
};

/// A dataset is finished if `epoch` equals its number of epochs.
struct position {
  std::uint32_t epoch = 0;
  std::vector<std::uint32_t> done{};  // in ascending order

  bool operator==(position const&) const = default;
};

struct dataset_spec {
  std::string name{};
  std::vector<std::string> splits{};
  std::uint32_t epochs = 1;
  position at{};
};

inline constexpr std::uint32_t any_epoch = ~0u;

struct draw_request {
  closure_id closure{};
  std::uint32_t attempt = 0;
  std::uint32_t epoch = any_epoch;
  bool whole = false;  // whether splits count as done as soon as a closure receives them
  std::vector<std::uint32_t> passed{};
  // Whether the closure was asked to stop, and therefore receives the end of the dataset.
  bool stops = false;

  bool operator==(draw_request const&) const = default;
};
/// Parses the arguments of a call; see ObjectRequests.args. Returns nothing if they are invalid.
std::optional<draw_request> draw_from(std::string_view args);
/// Parses a position. Returns nothing if it is invalid.
std::optional<position> position_from(std::string_view args);

struct worker_part {
  std::uint64_t drawn = 0;
  std::uint64_t done = 0;
};

struct dataset_counts {
  std::uint32_t epoch = 0;  // zero-based; the number of epochs if finished
  std::uint64_t splits = 0;
  std::uint64_t queued = 0, drawn = 0, done = 0;
  std::uint64_t waiting = 0;
};

struct dataset_totals {
  std::uint64_t datasets = 0;
  std::uint64_t queued = 0, drawn = 0, done = 0;
  std::uint64_t waiting = 0;
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
  std::string submitter{};
  time_point created{};
  std::uint32_t epochs = 0, epoch = 0;
  std::uint64_t splits = 0;
  std::uint64_t queued = 0, drawn = 0, done = 0;
  std::uint64_t waiting = 0;
  std::uint64_t given_back = 0;
  std::map<std::string, worker_part> workers{};
};

}  // namespace datasets
}  // namespace muster::core
