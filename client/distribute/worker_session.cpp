// The chief prepares, the others wait until it has.
#include "muster/worker_session.hpp"

#include <thread>

#include "base/backoff.hpp"

namespace muster {

worker_session::worker_session(coordinator_options o, closure_options task, session_config config)
    : coordinator_(std::move(o)), task_(std::move(task)), config_(std::move(config)) {}

std::unique_ptr<worker_session> session_creator::create() const {
  using clock = std::chrono::steady_clock;
  auto const end = clock::now() + max_wait;
  auto session = std::make_unique<worker_session>(server, task, config);
  session->coordinator().wait_open();
  if (role == kind::chief) {
    if (scaffold.init) scaffold.init(*session);
    return session;
  }
  // Whether it is ready is known to the program only, so it is asked with growing pauses.
  backoff pause(std::chrono::milliseconds(20), std::chrono::milliseconds(2'000), 1);
  while (scaffold.ready && !scaffold.ready(*session)) {
    auto const next = clock::now() + pause.next();
    if (next > end)
      throw wait_timeout("the chief has not prepared the job within " +
                         std::to_string(max_wait.count()) + " ms");
    std::this_thread::sleep_until(next);
  }
  return session;
}

}  // namespace muster
