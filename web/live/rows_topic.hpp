// A topic of rows with names: each row is a piece of JSON that is sent again when it differs from
// the one before. Its writers therefore put times in, never ages. Web thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "web/live/topic.hpp"

namespace muster::web {

/// In the order in which a snapshot has them.
using named_rows = std::vector<std::pair<std::string, std::string>>;

class rows_topic final : public changing_rows<std::string> {
 public:
  explicit rows_topic(topic_name n) : changing_rows(n) {}
  rows_topic(std::string name, std::uint64_t seq) : changing_rows(std::move(name), seq) {}

  /// `rows`: all there are now, each name once; `more`: how many were left out.
  void update(named_rows rows, std::size_t more, core::time_point now);

 private:
  struct row {
    std::string json;
    std::uint64_t changed = 0;
    bool present = false;
  };

  void write_body(json_out& out, std::uint64_t const* from) const override;

  std::map<std::string, row> rows_;
  std::size_t more_ = 0;
};

}  // namespace muster::web
