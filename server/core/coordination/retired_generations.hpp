// The ended generations of one cluster: by what their members are recognised, who may live on for
// long and must not act for the tasks that have taken their places. Owned by `cluster`; engine
// thread only; pure. At most 16, and 200,000 tasks; the last one always. More: the oldest is
// forgotten, and its members are taken for tasks of the current one.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "server/core/coordination/service.hpp"

namespace muster::core::coordination {

class retired_generations {
 public:
  bool empty() const { return all_.empty(); }
  /// REQUIRES: it has been stopped. `cause`: of its failure, may be empty.
  void add(service const& ended, std::string cause, task_index tasks);
  /// What a call from an ended generation is told; null: it comes from none of them.
  fault_ptr refuse(request const& r, service const& current, std::string const& cluster) const;

  template <class Archive>
  void walk(Archive& a) {
    a(all_);
  }

 private:
  struct retired {
    generation which;
    std::string cause;
    std::vector<core::incarnation> tasks;  // in order
    std::vector<std::string> peers;        // the same
  };
  template <class Request>
  fault_ptr refuse_one(Request const& r, service const& current, std::string const& cluster) const;

  std::deque<retired> all_;  // newest first
};

}  // namespace muster::core::coordination
