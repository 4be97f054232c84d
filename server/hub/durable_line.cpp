// First come, first told.
#include "server/hub/durable_line.hpp"

#include <utility>

namespace muster::server {

void durable_line::hold(bool changed, told t) {
  held h{written_, changed, std::move(t)};
  if (held_.empty() && (h.number <= durable_ || !failed_.ok())) return release(h);
  held_.push_back(std::move(h));
}

void durable_line::on_durable(std::uint64_t number, muster::status const& failed,
                              core::time_point now) {
  durable_ = number;
  if (!failed.ok() && failed_.ok()) {
    failed_since_ = now;
    failed_ = {code::unavailable,
               "the journal cannot be written (" + failed.message +
                   "), so what was asked for may be lost; the server takes nothing that has to be "
                   "written down until it is started again"};
  }
  while (!held_.empty() && (held_.front().number <= durable_ || !failed_.ok())) {
    auto h = std::move(held_.front());
    held_.pop_front();
    release(h);
  }
}

}  // namespace muster::server
