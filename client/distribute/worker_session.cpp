#include "muster/worker_session.hpp"

#include <thread>

#include "base/backoff.hpp"
#include "client/distribute/inputs.hpp"
#include "client/log_line.hpp"
#include "muster/cluster_error.hpp"

namespace muster {
namespace {

void check(checkpoint const& c, scaffold const& s) {
  if (!c.directory.empty() && !c.file.empty())
    throw cluster_error(cluster_error::code::invalid,
                        "both a checkpoint directory and a checkpoint file are set: " +
                            c.directory + " and " + c.file + "; set only one of them");
  if (c.named() && !s.restore)
    throw cluster_error(cluster_error::code::invalid,
                        "a checkpoint is set, but scaffold::restore is empty");
}

void prepare(worker_session& session, checkpoint const& c, scaffold const& s) {
  auto const& from = c.file.empty() ? c.directory : c.file;
  if (c.named() && s.restore(session, from)) return;
  if (!c.file.empty())
    throw cluster_error(cluster_error::code::missing, "no checkpoint was restored from " + from);
  if (s.init) s.init(session);
}

}  // namespace

worker_session::worker_session(coordinator_options o, closure_options task, session_config config)
    : coordinator_(std::move(o)), task_(std::move(task)), config_(std::move(config)) {}

std::unique_ptr<worker_session> session_creator::create() const {
  using clock = std::chrono::steady_clock;
  check(checkpoint, scaffold);
  auto const end = clock::now() + max_wait;
  auto to = server;
  to.connect_timeout = max_wait;  // one limit for the server and the chief
  log(log_level::info, "session of " + (to.name.empty() ? "a worker function" : to.name) + ": " +
                           (role == kind::chief ? "this is the chief, which prepares the job"
                                                : "waiting until the chief has prepared the job") +
                           ", master '" + master + "', configuration " +
                           distribute::text_of(config));
  auto session = std::make_unique<worker_session>(std::move(to), task, config);
  session->coordinator().wait_open();
  if (role == kind::chief) {
    prepare(*session, checkpoint, scaffold);
    return session;
  }
  // Only the program knows whether the job is ready, so poll it with growing pauses.
  backoff pause(std::chrono::milliseconds(20), std::chrono::milliseconds(2'000), 1);
  while (scaffold.ready && !scaffold.ready(*session)) {
    auto const next = clock::now() + pause.next();
    if (next > end)
      throw wait_timeout("the chief did not prepare the job within " +
                         std::to_string(max_wait.count()) + " ms");
    std::this_thread::sleep_until(next);
  }
  return session;
}

}  // namespace muster
