// Datasets dealt out by the server: what is asked, answered, and seen by readers. Plain data.
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

/// One dataset (`ds_…`); of the same numbers as objects.
enum class dataset_id : std::uint64_t {};

std::string text(dataset_id id);

namespace datasets {

/// What is said at each limit stands beside it.
struct dataset_limits {
  std::size_t datasets_max = 1'000;           // More: refused
  std::size_t splits_max = 100'000;           // of one. More: refused
  std::size_t split_bytes_max = 64u << 10;    // of one. More: refused
  std::size_t dataset_bytes_max = 16u << 20;  // of all splits of one. More: refused
  std::size_t split_overhead = 64;            // bytes that each takes besides
  std::size_t bytes_max = 256u << 20;         // of all, with these. More: refused
  std::uint32_t epochs_max = 1'000'000;       // More: refused
  std::size_t name_bytes_max = 256;           // More: refused
  std::size_t workers_max = 1'000;            // that are counted one by one. More: as "others"
};

/// How far a dataset is: the epoch that goes on, and what is done of it. Epochs as many as there
/// are: it is over, and nothing is done.
struct position {
  std::uint32_t epoch = 0;
  std::vector<std::uint32_t> done{};  // rising

  bool operator==(position const&) const = default;
};

struct dataset_spec {
  std::string name{};  // for people; or empty
  std::vector<std::string> splits{};
  std::uint32_t epochs = 1;
  position at{};
};

inline constexpr std::uint32_t any_epoch = ~0u;

/// What a closure asks for.
struct draw_request {
  closure_id closure{};
  std::uint32_t attempt = 0;
  std::uint32_t epoch = any_epoch;
  bool whole = false;                   // a split is worked when it is drawn
  std::vector<std::uint32_t> passed{};  // splits whose end it has drawn past
  bool stops = false;                   // the closure is asked to stop, which others say: the end

  bool operator==(draw_request const&) const = default;
};
/// From the arguments of a call; see ObjectRequests.args. None: they are not those of a draw.
std::optional<draw_request> draw_from(std::string_view args);
/// The same of a position.
std::optional<position> position_from(std::string_view args);

struct worker_part {
  std::uint64_t drawn = 0;  // has now
  std::uint64_t done = 0;   // ever
};

/// How far a dataset is, in numbers alone.
struct dataset_counts {
  std::uint32_t epoch = 0;  // that goes on, from 0; as many as there are: it is over
  std::uint64_t splits = 0;
  std::uint64_t queued = 0, drawn = 0, done = 0;  // of the epoch
  std::uint64_t waiting = 0;                      // draws
};

/// Of all datasets.
struct dataset_totals {
  std::uint64_t datasets = 0;
  std::uint64_t queued = 0, drawn = 0, done = 0;  // splits, of the epochs that go on
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
  std::string submitter{};  // id of a token; empty: nobody was asked
  time_point created{};
  std::uint32_t epochs = 0, epoch = 0;  // `epoch`: that goes on, from 0; as many: it is over
  std::uint64_t splits = 0;
  std::uint64_t queued = 0, drawn = 0, done = 0;  // of the epoch
  std::uint64_t waiting = 0;                      // draws
  std::uint64_t given_back = 0;                   // ever
  std::map<std::string, worker_part> workers{};
};

}  // namespace datasets
}  // namespace muster::core
