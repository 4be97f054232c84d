// Matches closures with the query of a listing: records, and rows of ended sessions.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "server/core/api/id_text.hpp"
#include "server/core/api/listings.hpp"

namespace muster::core {

inline constexpr std::size_t search_text_units = 16;

inline bool contains_word(std::string_view text, std::string_view word) {
  auto const same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

inline value_state value_of(closure_state s, failure const* f) {
  if (!ended(s)) return value_state::not_ready;
  return f && f->kind == failure_kind::worker_lost ? value_state::aborted : value_state::ready;
}

struct candidate {
  closure_id id{};
  closure_state state{};
  function_id function{};
  static constexpr std::uint32_t no_place = ~0u;
  std::uint32_t place = no_place;
  std::uint64_t index = 0;
  time_point created{};
  std::optional<time_point> started;
  time_point finished{};
  std::uint64_t bytes = 0;
  value_state value{};
  value_whereabouts where{};
  core::failure const* failed = nullptr;
};

/// A query, prepared for one step. `Names` returns function names (`shown`, `served`), worker names
/// by place (`worker`), and the number of functions (`functions`).
template <class Names>
class closure_search {
 public:
  /// REQUIRES: all arguments outlive the search.
  closure_search(closure_query const& q, closure_bounds const& within, Names const& names)
      : query_(q), within_(within), listed_(names) {
    if (!q.text.empty() || !q.function.empty()) names_.resize(names.functions());
    if (q.function.empty()) return;
    unsatisfiable_ = true;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      function_id const f{static_cast<std::uint32_t>(i)};
      names_[i].wanted = names.shown(f) == q.function || names.served(f) == q.function;
      unsatisfiable_ = unsatisfiable_ && !names_[i].wanted;
    }
  }

  bool unsatisfiable() const { return unsatisfiable_; }
  bool full() const { return found.size() >= within_.room; }

  /// Adds the candidate to `found` if it matches. Returns the cost in units; see step_units.
  std::size_t look_at(candidate const& c) {
    if (!(query_.states & bit(c.state))) return 0;
    if (!query_.function.empty() && !names_[raw(c.function)].wanted) return 0;
    if (query_.value && c.value != *query_.value) return 0;
    if (query_.place && c.where != *query_.place) return 0;
    if (auto const at = ended(c.state) ? c.finished : c.created;
        at < query_.since || at > query_.until)
      return 0;
    if (!query_.worker.empty() &&
        (c.place == candidate::no_place || listed_.worker(c.place) != query_.worker))
      return 0;
    found_closure const f{key_of(c), c.id};
    if (f <= within_.after || f >= within_.before) return 0;
    std::size_t cost = 0;
    if (!query_.text.empty()) {
      cost = search_text_units;
      if (!has_text(c)) return cost;
    }
    found.push_back(f);
    return cost;
  }

  std::vector<found_closure> found;

 private:
  std::uint64_t key_of(candidate const& c) const {
    auto const key = [this](std::uint64_t n) { return query_.descending ? ~n - 1 : n + 1; };
    auto const micros = [](auto d) {
      return static_cast<std::uint64_t>(std::max<std::int64_t>(0, d.count()));
    };
    switch (query_.order) {
      case listing_order::by_index:
        return key(c.index);
      case listing_order::by_start:
        return c.started ? key(micros(c.started->time_since_epoch())) : UINT64_MAX;
      case listing_order::by_duration:
        if (!c.started) return UINT64_MAX;
        return key(micros((ended(c.state) ? c.finished : query_.at) - *c.started));
      case listing_order::by_age:
        return key(micros(query_.at - (ended(c.state) ? c.finished : c.created)));
      case listing_order::by_size:
        return c.state == closure_state::succeeded ? key(c.bytes) : UINT64_MAX;
    }
    return 0;
  }
  bool has_text(candidate const& c) {
    auto& known = names_[raw(c.function)];
    if (!std::exchange(known.looked_at, true)) {
      known.has_text = contains_word(listed_.shown(c.function), query_.text) ||
                       contains_word(listed_.served(c.function), query_.text);
    }
    if (known.has_text) return true;
    if (c.failed && (contains_word(c.failed->message, query_.text) ||
                     contains_word(c.failed->type, query_.text)))
      return true;
    return contains_word(text(c.id), query_.text);
  }

  closure_query const& query_;
  closure_bounds const& within_;
  Names const& listed_;
  bool unsatisfiable_ = false;
  struct named {
    bool wanted = false;
    bool looked_at = false;
    bool has_text = false;
  };
  std::vector<named> names_;
};

}  // namespace muster::core
