#include "server/core/api/hangs.hpp"

#include "base/rank_label.hpp"
#include "server/core/api/program_views.hpp"

namespace muster::core {
namespace {

std::string why(hang const& h) {
  switch (h.evidence) {
    case hang_evidence::barrier:
      return "is missing at barrier '" + h.barrier + "'";
    case hang_evidence::step:
      return "is a step behind the other ranks";
    case hang_evidence::stopped:
      return "was stopped by a signal or a debugger";
    case hang_evidence::in_kernel:
      return "is in a system call that does not return";
    case hang_evidence::stack:
      return "is at a different place in the code than the waiting ranks";
    case hang_evidence::ended:
      return "has exited, and the other ranks are waiting for it";
    case hang_evidence::collective:
      return "has not entered the collective operation in which the other ranks are waiting";
    case hang_evidence::undecided:
      break;
  }
  return "no rank is making progress, and the ranks do not differ from each other";
}

std::string seconds(duration d) {
  auto const tenths = std::chrono::duration_cast<std::chrono::milliseconds>(d).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

std::string text(hang const& h) {
  auto said = h.rank < 0
                  ? why(h)
                  : rank_label(static_cast<std::uint32_t>(h.rank), h.task) + " on " + h.host +
                        (h.waits > 0 ? " blocks the others: it " : " hangs: it ") + why(h);
  if (!h.line.empty()) said += ", at " + h.line;
  if (h.rank >= 0 && h.line.empty() && !h.process.empty()) said += ", " + h.process;
  if (h.waits > 0) {
    said += "; ";
    said += std::to_string(h.waits) + (h.waits == 1 ? " rank is waiting" : " ranks are waiting");
    if (!h.waiting_line.empty()) said += " at " + h.waiting_line;
  }
  return said + "; detected after " + seconds(h.found - h.since);
}

}  // namespace muster::core
