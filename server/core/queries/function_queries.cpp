#include "server/core/queries/function_queries.hpp"

#include <unordered_map>

#include "server/core/state/engine_state.hpp"

namespace muster::core {

namespace {

template <class View>
void count(function_entry const& f, View& into) {
  into.waiting += f.waiting;
  into.queued += f.queued;
  into.running += f.running;
  into.succeeded += f.succeeded;
  into.failed += f.failed;
  into.cancelled += f.cancelled;
}

}  // namespace

std::vector<function_view> function_queries::all() const {
  std::vector<function_view> out;
  auto const& all = core_.book.functions;
  std::unordered_map<std::uint32_t, std::size_t> place_of;
  for (std::uint32_t i = 0; i < all.numbers(); ++i)
    if (auto const& f = all[function_id{i}]; !f.callable) {
      place_of.emplace(i, out.size());
      out.push_back({f.name, f.workers, f.ever_had});
    }
  for (auto const& f : all.all()) count(f, out[place_of.at(raw(f.served))]);
  return out;
}

std::vector<shown_function_view> function_queries::shown() const {
  std::vector<shown_function_view> out;
  std::unordered_map<std::string_view, std::size_t> place_of;
  for (auto const& f : core_.book.functions.all()) {
    if (f.name.empty()) continue;  // the number is free
    auto const [at, fresh] = place_of.try_emplace(f.name, out.size());
    if (fresh) out.push_back({f.name});
    count(f, out[at->second]);
  }
  return out;
}

std::string_view function_queries::name(function_id f) const {
  return core_.book.functions[f].name;
}

std::string_view function_queries::called(closure_id closure) const {
  auto const& functions = core_.book.functions;
  slot const c = core_.closures.find(closure);
  if (c == no_slot) return {};
  auto const& known = functions[core_.closures[c].function];
  return known.callable ? std::string_view(known.name) : functions[known.served].name;
}

}  // namespace muster::core
