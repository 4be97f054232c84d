// A topic of named rows. A row is a JSON text that is sent again when it changes, so it must
// contain times instead of ages. Used on the web thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "web/live/topic.hpp"

namespace muster::web {

using named_rows = std::vector<std::pair<std::string, std::string>>;

class rows_topic final : public changing_rows<std::string> {
 public:
  explicit rows_topic(topic_name n) : changing_rows(n) {}
  rows_topic(std::string name, std::uint64_t seq) : changing_rows(std::move(name), seq) {}

  /// `rows` contains each current row once; `more` counts the omitted rows.
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
