// Interns the names of callables that closures refer to, and forgets unused ones.
#include <map>

#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {
/// Minimum interval between scans for unused callables, each of which visits all closures.
constexpr duration search_interval = std::chrono::seconds(10);
}  // namespace

void coordinator::state::take_callables(std::vector<closure_spec>& coming,
                                        std::vector<callable_name> const& callables) {
  std::map<std::pair<std::uint32_t, function_id>, std::uint32_t> numbers;
  std::vector<function_id> done;
  for (auto& spec : coming) {
    if (spec.callable == 0) continue;
    if (spec.callable > callables.size() || callables[spec.callable - 1].name.empty() ||
        !book.functions.knows(spec.function)) {
      spec.callable = 0;
      continue;
    }
    auto const [at, fresh] = numbers.try_emplace({spec.callable, spec.function}, 0);
    if (fresh) {
      auto const& called = callables[spec.callable - 1];
      auto id = book.functions.intern(spec.function, called);
      if (!id && step.now >= book.functions.next_check) {
        forget_callables(done);
        id = book.functions.intern(spec.function, called);
      }
      if (id) at->second = raw(done.emplace_back(*id));
    }
    spec.callable = at->second;
  }
}

void coordinator::state::forget_callables(std::vector<function_id> const& coming) {
  std::vector<bool> used(book.functions.numbers());
  auto const use = [&used](function_id f) { used[raw(f)] = true; };
  for (auto const f : coming) use(f);
  closures.for_each([&](slot, closure_record const& r) { use(r.function); });
  book.functions.forget_unused(std::move(used));
  book.functions.next_check = step.now + search_interval;
}

}  // namespace muster::core
