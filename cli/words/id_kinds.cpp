#include "cli/words/id_kinds.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace muster::cli {
namespace {

struct kind {
  std::string_view prefix, what, verb;
};
constexpr std::array kinds{kind{"cl_", "a closure", "explain"},
                           kind{"job_", "a job", "jobs"},
                           kind{"rv_", "a value", "fetch"},
                           kind{"prog_", "a program", "programs show"},
                           kind{"obj_", "an object", "objects show"},
                           kind{"ds_", "a dataset", "datasets show"},
                           kind{"pw_", "a per-worker value", "per-worker show"}};

bool is_task(std::string const& text) {
  auto const colon = text.find(':');
  return colon != 0 && colon != text.npos && colon + 1 < text.size() &&
         text.find_first_not_of("0123456789", colon + 1) == text.npos;
}

}  // namespace

bool is_id_with(std::string_view prefix, std::string_view word) {
  return word.starts_with(prefix) && word.size() > prefix.size() &&
         word.find_first_not_of("0123456789abcdef", prefix.size()) == word.npos;
}

bool is_id_of_any_kind(std::string const& word) {
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](kind const& k) { return is_id_with(k.prefix, word); });
}

std::string other_id(std::string const& id, std::string const& wanted) {
  for (auto const& k : kinds)
    if (id.starts_with(k.prefix))
      return "'" + id + "' is " + std::string(k.what) + ": 'muster " + std::string(k.verb) + " " +
             id + "' shows it";
  if (is_task(id))
    return "'" + id + "' is a task: 'muster tasks' shows it, 'muster stacks " + id +
           "' prints its stacks";
  return "'" + id + "' is neither " + wanted;
}

}  // namespace muster::cli
