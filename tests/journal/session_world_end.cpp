#include <algorithm>
#include <utility>

#include "server/core/api/id_text.hpp"
#include "server/core/queries/session_queries.hpp"
#include "tests/journal/session_world.hpp"

namespace muster::server::journal {

namespace {
auto const nobody_asks = [](core::reply const&) {};
}  // namespace

bool session_world::unfinished() const {
  return std::any_of(clients_.begin(), clients_.end(), [](auto const& entry) {
    auto const& tasks = entry.second.tasks;
    return std::any_of(tasks.begin(), tasks.end(), [](auto const& t) { return !t.second.outcome; });
  });
}

void session_world::heal() {
  workers_.heal();
  server_.write_all();
  for (auto& [n, c] : clients_) {
    resume(c);
    server_.write_all();
  }
  for (int i = 0; i < 3'000 && unfinished(); ++i) {
    work_well();
    for (auto& [n, c] : clients_)
      if (c.unary) {
        if (i % 20 == 0) send_all_unfinished(c);
        fetch(c);
      }
    pass_time();
  }
  if (unfinished()) fail("closures have no outcome");
}

// Releases everything. Unary clients are not checked: a kill can lose an unanswered release.
// @pre Everything has ended.
void session_world::release_all() {
  for (auto& [n, c] : clients_) {
    core::release_values e;
    e.session = c.session;
    for (auto const& [token, t] : std::exchange(c.tasks, {}))
      c.unary ? e.closures.push_back(t.id) : e.tokens.push_back(token);
    server_.ask(std::move(e), nobody_asks);
    for (auto const& [token, id] : std::exchange(c.values, {}))
      server_.ask(core::delete_per_worker{{}, id, c.session}, nobody_asks);
  }
  server_.write_all();
  for (auto const& [n, c] : clients_) {
    if (c.unary) continue;
    auto const session = text(c.session).substr(4);  // after "job_"
    for (std::string const kind : {"a", "e", "p"})
      (void)server_.disk().read(kind + '\0' + session, [&](std::string_view, std::string_view) {
        fail(text(c.session) + " has released everything, and the disk has " + kind);
        return false;
      });
  }
}

void session_world::leave() {
  while (!clients_.empty()) {
    auto const before = clients_.size();
    close(clients_.begin()->second);
    if (clients_.size() == before) return fail("a client cannot leave");
  }
  for (auto const& j : server_.core().sessions().list({}, ~std::size_t{}).items)
    server_.step(core::close_session{j.id});  // of clients that never received their session id
  // Ended sessions stay listed.
  auto const someone_stays = [this] {
    auto const all = server_.core().sessions().list({}, ~std::size_t{}).items;
    return std::any_of(all.begin(), all.end(),
                       [](auto const& j) { return j.state == core::job_state::running; });
  };
  for (int i = 0; i < 500 && someone_stays(); ++i) {
    work_well();
  }
  server_.write_all();
  if (someone_stays()) fail("a closed session stays");
  (void)server_.disk().read("", [this](std::string_view key, std::string_view) {
    fail("the disk still has " + std::string(key.substr(0, 1)) + " " + std::string(key.substr(2)));
    return false;
  });
}

}  // namespace muster::server::journal
