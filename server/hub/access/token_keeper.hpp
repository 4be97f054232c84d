// Owns the tokens: creates, revokes and rotates them, records changes in the journal, and publishes
// them to the gate. Ends the streams and requests of revoked and expired tokens. Reports actions of
// users and refused requests to the event feed. Engine thread only.
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
  /// Schedules a call of `on_deadline`. Replaces an earlier schedule.
  std::function<void(core::time_point)> arm;
  /// Publishes a line to the log and the event feed.
  std::function<void(log_event const&)> tell;
  /// Ends everything in progress with this token: streams are closed, pending requests dropped.
  std::function<void(std::string const& id)> ended;
  /// Stores a change. Empty: this server cannot store tokens.
  std::function<void(core::token_change const&)> write_down = {};
};

struct token_request {
  std::string name;
  core::role role = core::role::viewer;
  std::vector<std::string> clusters;
  core::duration expires_in{};  // 0: does not expire
  bool allow_exec = false;
  std::uint64_t queued_max = 0, sessions_max = 0, value_bytes_max = 0;
};

/// A new token with its credential, which is not stored and cannot be retrieved later.
struct new_token {
  core::token token{};
  std::string credential{};
  std::string warning{};  // set if requests without a token are accepted
};
new_token make_token(token_request const& w, std::string created_by, core::time_point now);

class token_keeper {
 public:
  /// REQUIRES: the gate outlives the keeper.
  token_keeper(gate& g, keeper_dependencies e) : gate_(g), dependencies_(std::move(e)) {}
  token_keeper(token_keeper const&) = delete;

  /// Restores the tokens from an earlier process, before requests are served.
  void restore(std::vector<core::token> all);
  /// Replaces the tokens of --token-file.
  void replace_file(std::vector<core::token> all);
  void start();

  // The next three functions take effect at once. Use coordination_hub::when_durable to wait until
  // the change is on disk. Errors: those of token_table; FAILED_PRECONDITION if tokens cannot be
  // stored.
  muster::result<new_token> create(token_request const& w, core::caller const& by);
  /// Replaces the secret of a token; the old secret becomes invalid at once. Errors: NOT_FOUND;
  /// FAILED_PRECONDITION.
  muster::result<new_token> rotate(std::string const& id);
  /// Invalidates a token. Errors: NOT_FOUND; FAILED_PRECONDITION.
  muster::status revoke(std::string const& id);

  core::token_table const& state() const { return tokens_; }
  /// See gate::required_after_restart.
  bool required_after_restart() const { return gate_.required_after_restart(); }
  core::time_point now() const { return dependencies_.now(); }

  /// Publishes an audit event: `by` did `what` from this address.
  void audit(core::caller const& by, std::string const& from, std::string const& cluster,
             std::string const& what);
  /// Ends expired tokens, and reports refusals once a minute.
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
  core::time_point last_expiry_check_{};  // last check for expired tokens
  core::time_point last_report_{};        // last report of refusals
};

}  // namespace muster::server
