// A change takes effect before it is durable, so that a revoked token is invalid immediately. The
// request is answered when the change is durable.
#include "server/hub/access/token_keeper.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "server/hub/access/token_text.hpp"

namespace muster::server {

namespace {
constexpr std::chrono::minutes tell_every{1};
}  // namespace

new_token make_token(token_request const& w, std::string created_by, core::time_point now) {
  new_token made;
  auto& t = made.token;
  t.id = new_token_id(w.name, w.role);
  t.role = w.role;
  t.clusters = w.clusters;
  if (w.expires_in > core::duration{}) t.expires = now + w.expires_in;
  t.allow_exec = w.allow_exec;
  t.created = now;
  t.created_by = std::move(created_by);
  t.queued_max = w.queued_max;
  t.sessions_max = w.sessions_max;
  t.value_bytes_max = w.value_bytes_max;
  made.credential = new_credential(t.id);
  seal(t, made.credential);
  return made;
}

void token_keeper::restore(std::vector<core::token> all) {
  for (auto& t : all) tokens_.restore(std::move(t));
  publish();
}

void token_keeper::replace_file(std::vector<core::token> all) {
  auto const gone = tokens_.replace_file(std::move(all));
  publish();
  for (auto const& id : gone) dependencies_.ended(id);
  if (started_) arm();
}

void token_keeper::start() {
  started_ = true;
  last_expiry_check_ = last_report_ = now();
  arm();
}

muster::status token_keeper::can_keep() const {
  if (dependencies_.write_down) return {};
  return {code::failed_precondition,
          "this server cannot store tokens: start it with --data-dir or --store, or change its "
          "--token-file"};
}

std::string token_keeper::warning() const {
  if (gate_.required()) return {};
  return std::string("this server accepts requests without a token ") +
         (gate_.required_after_restart()
              ? "until it restarts, because it was started without tokens; restart it"
              : "(--auth off)");
}

muster::result<new_token> token_keeper::create(token_request const& w, core::caller const& by) {
  if (auto bad = can_keep(); !bad.ok()) return bad;
  auto made = make_token(w, by ? by->id : std::string(), now());
  if (auto bad = tokens_.step(core::create_token{made.token}, now()); !bad.ok()) return bad;
  publish();
  if (started_) arm();
  dependencies_.write_down({made.token.id, tokens_.find(made.token.id)});
  made.warning = warning();
  return made;
}

muster::result<new_token> token_keeper::rotate(std::string const& id) {
  if (auto bad = can_keep(); !bad.ok()) return bad;
  new_token made{.credential = new_credential(id)};
  seal(made.token, made.credential);
  auto changed = tokens_.step(core::rotate_token{id, made.token.salt, made.token.digest});
  if (!changed.ok()) return changed;
  publish();
  dependencies_.ended(id);
  made.token = *tokens_.find(id);
  dependencies_.write_down({id, tokens_.find(id)});
  made.warning = warning();
  return made;
}

muster::status token_keeper::revoke(std::string const& id) {
  if (auto bad = can_keep(); !bad.ok()) return bad;
  if (auto changed = tokens_.step(core::revoke_token{id}, now()); !changed.ok()) return changed;
  publish();
  dependencies_.ended(id);
  dependencies_.write_down({id, nullptr});
  return {};
}

void token_keeper::publish() {
  auto all = std::make_shared<token_set>();
  for (auto const& [id, t] : tokens_.all()) all->emplace(id, t);
  gate_.publish(std::move(all));
}

void token_keeper::arm() {
  dependencies_.arm(std::min(tokens_.next_expiry(last_expiry_check_), last_report_ + tell_every));
}

void token_keeper::audit(core::caller const& by, std::string const& from,
                         std::string const& cluster, std::string const& what) {
  using core::coordination::severity;
  auto text = what + " from " + (from.empty() ? std::string("this machine") : from);
  dependencies_.tell(
      {severity::info, "audit", cluster, by ? by->id : std::string(), std::move(text)});
}

void token_keeper::on_deadline() {
  auto const at = now();
  for (auto const& [id, t] : tokens_.all())
    if (t->expires > last_expiry_check_ && t->expires <= at) dependencies_.ended(id);
  last_expiry_check_ = at;
  if (at >= last_report_ + tell_every) {
    last_report_ = at;
    for (auto const& r : gate_.take_refusals()) {
      auto const n = r.without + r.wrong + r.forbidden;
      dependencies_.tell({core::coordination::severity::warning,
                          "access_refused",
                          {},
                          r.address.empty() ? std::string("other addresses") : r.address,
                          "requests refused within a minute: " + std::to_string(n) + " (" +
                              std::to_string(r.without) + " without a token, " +
                              std::to_string(r.wrong) + " with a wrong token, " +
                              std::to_string(r.forbidden) +
                              " that their role does not allow); the last one: " + r.last});
    }
  }
  arm();
}

}  // namespace muster::server
