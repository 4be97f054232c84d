#include <algorithm>
#include <cstdint>

#include "base/text.hpp"
#include "server/core/api/program_views.hpp"

namespace muster::core {

std::string text(program_id id) {
  return "prog_" + hex16(raw(id));
}

void describe_losses(program_view& p, time_point now) {
  auto const seconds = [](duration d) {
    auto const whole = std::chrono::duration_cast<std::chrono::seconds>(d).count();
    return std::to_string(std::max<std::int64_t>(whole, 0)) + " s";
  };
  for (auto& l : p.lost_workers) {
    l.text = l.worker + " on " + l.host + " has been lost for " + seconds(now - l.since) +
             "; its " + (l.ranks == 1 ? "rank" : "ranks") + " will be given up in " +
             seconds(l.given_up - now) + " (--program-lease); then ";
    if (l.next_attempt == 0) {
      l.text += "the program will end";
      continue;
    }
    l.text += "attempt " + std::to_string(l.next_attempt) + " will begin";
    for (std::size_t i = 0; i < l.next_hosts.size(); ++i)
      l.text += (i == 0 ? " on " : ", ") + l.next_hosts[i];
  }
}

}  // namespace muster::core
