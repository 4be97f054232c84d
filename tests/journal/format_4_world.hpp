// The steps that created the directory of format 4, at fixed times. They must give the same entries
// as long as the format is 4.
#pragma once

#include "server/core/coordination/clusters.hpp"
#include "tests/core/fixture.hpp"
#include "tests/journal/memory_store.hpp"

namespace muster::server::journal {

class format_4_world {
 public:
  format_4_world();
  memory_store const& written() const { return store_; }

 private:
  void note();
  void advance(core::duration d);
  core::session_id session(core::session_spec spec);
  core::opened submit(std::string name, std::vector<core::closure_spec> work,
                      core::session_spec spec = {});
  core::closures schedule(core::session_id s, std::vector<core::closure_spec> work);
  void answer(core::worker_result r);
  template <class Event>
  void tell(Event e) {
    c_.ask(std::move(e));
    note();
  }

  void jobs_that_end();
  void jobs_that_wait();
  void sessions();
  void values_of_nobody();
  void losses();
  void agents();
  void tokens();

  memory_store store_;
  core::cluster c_;
  core::stream_id w_{};
};

}  // namespace muster::server::journal
