// Creates, revokes and rotates tokens, records changes in the journal, and publishes the tokens to
// the gate. Reports users' actions and refused requests to the event feed. Used only on the engine
// thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/core/access/token_table.hpp"
#include "server/hub/access/gate.hpp"
#include "server/hub/log_event.hpp"

namespace muster::server {

struct keeper_dependencies {
  std::function<core::time_point()> now;
  /// Schedules a call of `on_deadline`, replacing an earlier schedule.
  std::function<void(core::time_point)> arm;
  std::function<void(log_event const&)> tell;
  /// Aborts all activity with this token: closes streams and drops pending requests.
  std::function<void(std::string const& id)> ended;
  /// Stores a change. The function is empty if this server cannot store tokens.
  std::function<void(core::token_change const&)> write_down = {};
};

struct token_request {
  std::string name;
  core::role role = core::role::viewer;
  std::vector<std::string> clusters;
  core::duration expires_in{};  // 0 if the token never expires
  bool allow_exec = false;
  std::uint64_t queued_max = 0, sessions_max = 0, value_bytes_max = 0;
};

/// The credential is not stored and cannot be retrieved later.
struct new_token {
  core::token token{};
  std::string credential{};
  std::string warning{};  // set if requests without a token are accepted
};
new_token make_token(token_request const& w, std::string created_by, core::time_point now);

class token_keeper {
 public:
  token_keeper(gate& g, keeper_dependencies e) : gate_(g), dependencies_(std::move(e)) {}
  token_keeper(token_keeper const&) = delete;

  /// Must be called before requests are served.
  void restore(std::vector<core::token> all);
  void replace_file(std::vector<core::token> all);
  void start();

  // The next three functions take effect immediately; coordination_hub::when_durable waits until
  // the change is durable. The functions return the same errors as token_table, or
  // FAILED_PRECONDITION if this server cannot store tokens.
  muster::result<new_token> create(token_request const& w, core::caller const& by);
  muster::result<new_token> rotate(std::string const& id);
  muster::status revoke(std::string const& id);

  core::token_table const& state() const { return tokens_; }
  bool required_after_restart() const { return gate_.required_after_restart(); }
  core::time_point now() const { return dependencies_.now(); }

  /// Publishes an audit event. `from` is the user's address.
  void audit(core::caller const& by, std::string const& from, std::string const& cluster,
             std::string const& what);
  /// Removes expired tokens, and reports refusals once a minute.
  void on_deadline();

 private:
  void publish();
  void arm();
  muster::status can_keep() const;
  std::string warning() const;

  server::gate& gate_;
  keeper_dependencies const dependencies_;
  core::token_table tokens_;
  bool started_ = false;
  core::time_point last_expiry_check_{};
  core::time_point last_report_{};
};

}  // namespace muster::server
