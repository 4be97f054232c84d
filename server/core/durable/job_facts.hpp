// What a step changed of durable jobs, as facts: see api/facts.hpp. Reads the records only.
//
// Owned by the coordinator, used at the end of a step; engine thread only.
#pragma once

#include <vector>

#include "server/core/closures/closure_book.hpp"
#include "server/core/moves/step_frame.hpp"
#include "server/core/records/closure_table.hpp"
#include "server/core/records/place_table.hpp"
#include "server/core/sessions/session_table.hpp"
#include "server/core/values/value_store.hpp"

namespace muster::core {

class job_facts {
 public:
  job_facts(step_frame& step, closure_table const& closures, place_table const& places,
            closure_book const& book, session_table const& sessions, value_store const& values)
      : step_(step),
        closures_(closures),
        places_(places),
        book_(book),
        sessions_(sessions),
        values_(values) {}

  /// Of everything that was noted in this step.
  void say();
  /// For one that goes with all its jobs.
  std::vector<fact> forget_all() const;

 private:
  job_fact of(session const& s) const;
  accepted_fact accepted(session const& s, std::uint32_t first) const;
  closure_fact of(session const& s, slot c) const;
  attempt_fact of(attempt_record const& a) const;

  step_frame& step_;
  closure_table const& closures_;
  place_table const& places_;
  closure_book const& book_;
  session_table const& sessions_;
  value_store const& values_;
};

}  // namespace muster::core
