// What a hub does for its programs, beside the steps of the core.
#include "server/core/programs/controller.hpp"
#include "server/hub/hub.hpp"

namespace muster::server {

std::vector<std::string> hub::look_for_uploads(
    std::function<bool(std::string const&)> const& is_there) {
  std::vector<std::string> named;
  core::uploads_seen seen;
  bool news = false;
  for (auto const& [hash, known] : core_.programs().uploads()) {
    bool const there = is_there(hash);
    news = news || there != known;
    if (there) seen.there.push_back(hash);
    named.push_back(hash);
  }
  if (news) apply(seen);
  return named;
}

void hub::read_log(rank_log_query query, rank_logs::handler done) {
  auto const stream = core_.programs().worker_of(query.rank);
  if (!stream) return done(stream.error());
  auto const sink = workers_.find(*stream);
  if (sink == workers_.end())
    return done(muster::status{code::unavailable, "its worker is away; ask again"});
  auto task = core_.programs().task_of(query.rank);
  query.number = rank_logs_.expect(*stream, std::move(task), std::move(done));
  if (query.number != 0) sink->second->on_log_query(query);
}

void hub::look_at_lines(last_lines::attempt_asked const& of, std::function<void()> done) {
  auto const worker = [&](std::uint32_t rank) {
    auto const stream = core_.programs().worker_of({of.program, of.attempt, rank});
    return stream ? *stream : core::stream_id{};
  };
  auto const ask = [this](core::stream_id stream, last_lines_query const& q) {
    auto const sink = workers_.find(stream);
    if (sink == workers_.end()) return false;
    sink->second->on_lines_query(q);
    return true;
  };
  last_lines_.look(now(), of, worker, ask, std::move(done));
}

muster::result<std::string> hub::cluster_of(core::program_id program, std::uint32_t attempt,
                                            std::string_view tunnel_key) const {
  if (!core_.programs().admits(program, attempt, tunnel_key))
    return muster::status{code::permission_denied, "this worker runs no rank of attempt " +
                                                       std::to_string(attempt) + " of " +
                                                       core::text(program)};
  auto name = coordination_cluster(program);
  if (name.empty())
    return muster::status{code::not_found, core::text(program) + " has no coordination cluster"};
  return name;
}

void hub::restore(std::vector<core::programs::restored_program> programs) {
  std::vector<core::program_changed> changes;
  for (auto const& p : programs)
    changes.push_back({p.course.program, p.course.state, p.course.attempts, false, {}});
  apply(core::programs::restore_programs{std::move(programs)});
  doctor_.follow(changes);
  follow_deadlines();
}

void hub::look_at_cluster(core::program_id program, std::vector<std::uint32_t> const& tasks,
                          doctor::look& into) const {
  if (dependencies_.coordination) dependencies_.coordination->look(program, tasks, into);
}

void hub::log(core::coordination::severity s, std::string kind, std::string about,
              std::string text) {
  if (!dependencies_.log) return;
  dependencies_.log({s, std::move(kind), dependencies_.cluster, std::move(about), std::move(text)});
}

}  // namespace muster::server
