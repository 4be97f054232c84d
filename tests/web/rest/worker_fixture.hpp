// A server with one worker that the test controls.
#pragma once

#include "tests/web/fixture.hpp"

namespace muster::web::test {

template <class Worker = server::hub_worker>
struct worker_fixture : web_fixture {
  Worker w;

  void start_with_worker() {
    start();
    core_engine().run([this](server::hub& h) {
      w.stream = h.attach(w);
      core::worker_attached e{w.stream, {}};
      e.spec.functions = {"f"};
      e.spec.incarnation = core::incarnation{7};
      h.apply(e);
    });
  }
};

}  // namespace muster::web::test
