#include "server/history/history.hpp"

namespace muster::history {

history::history(config const& c, server_wide& wide, time_point start)
    : activity_(c, wide, start),
      names_(c, [this](auto const& use) { activity_.for_each_function(use); }) {}

}  // namespace muster::history
