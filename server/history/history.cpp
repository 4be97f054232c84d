#include "server/history/history.hpp"

namespace muster::history {

history::history(config const& c, server_wide& wide, time_point start)
    : activity_(c, wide, start),
      names_(c,
             [this](auto const& use) {
               activity_.for_each_function(use);
               rows_.all().for_each([&](ended_row const& r) { use(r.function); });
               times_.for_each_function(use);
               durations_.for_each_function(use);
             }),
      rows_(c, wide, names_),
      log_(c) {}

}  // namespace muster::history
