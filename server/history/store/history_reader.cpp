#include "server/history/store/history_reader.hpp"

#include <string>
#include <utility>
#include <vector>

namespace muster::server {

void history_reader::start(history_store const& store) {
  thread_.start([this, &store](std::vector<question> all) {
    for (auto const& q : all) {
      q(store);
      --waiting_;
    }
  });
  there_ = true;
}

muster::status history_reader::ask(question q) {
  if (!there_)
    return {code::failed_precondition,
            "this server does not store history; start it with --data-dir or --history-dir"};
  if (waiting_.fetch_add(1) >= questions_max) {
    --waiting_;
    return {code::resource_exhausted, "more than " + std::to_string(questions_max) +
                                          " history queries are waiting; try again in a second"};
  }
  std::vector<question> one;
  one.push_back(std::move(q));
  if (thread_.ask(std::move(one))) return {};
  --waiting_;
  return {code::unavailable, "the server is stopping"};
}

}  // namespace muster::server
