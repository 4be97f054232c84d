// The only owner of the tokens: makes, revokes and rotates them, has each change written down,
// publishes them to the gate, and ends what a revoked or expired one had begun. It also tells the
// event feed who did what, and who was turned away. Engine thread only.
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
  /// Arrange for `on_deadline` to be called at this time, instead of an earlier arrangement.
  std::function<void(core::time_point)> arm;
  /// A line for the log and the event feed.
  std::function<void(log_event const&)> tell;
  /// What was done with this token ends: streams are cut, requests in flight dropped.
  std::function<void(std::string const& id)> ended;
  /// Has it written down. Empty: there is nowhere to keep tokens but in a file.
  std::function<void(core::token_fact const&)> write_down = {};
};

/// What somebody wants a token to be.
struct wanted_token {
  std::string name;
  core::role role = core::role::viewer;
  std::vector<std::string> clusters;
  core::duration expires_in{};  // 0: never
  bool allow_exec = false;
  std::uint64_t queued_max = 0, sessions_max = 0, value_bytes_max = 0;
};

/// The only time that the credential is seen.
struct new_token {
  core::token token{};
  std::string credential{};
  std::string warning{};  // that requests without a token are accepted; empty: they are not
};
new_token make_token(wanted_token const& w, std::string created_by, core::time_point now);

class token_keeper {
 public:
  /// REQUIRES: the gate outlives it.
  token_keeper(gate& g, keeper_dependencies e) : gate_(g), dependencies_(std::move(e)) {}
  token_keeper(token_keeper const&) = delete;

  /// Of an earlier process. Before anybody is served.
  void restore(std::vector<core::token> all);
  /// What --token-file says now.
  void replace_file(std::vector<core::token> all);
  /// From here on deadlines are asked for.
  void start();

  // At once; to be told when it is on the disk, see coordination_hub::when_durable. Errors:
  // token_table's; FAILED_PRECONDITION: no place to keep tokens.
  muster::result<new_token> create(wanted_token const& w, core::caller const& by);
  /// Another secret for the same id; the old one ends at once. NOT_FOUND, FAILED_PRECONDITION.
  muster::result<new_token> rotate(std::string const& id);
  /// The token is worth nothing from now on. NOT_FOUND, FAILED_PRECONDITION.
  muster::status revoke(std::string const& id);

  core::token_table const& state() const { return tokens_; }
  /// See gate::required_after_restart.
  bool required_after_restart() const { return gate_.required_after_restart(); }
  core::time_point now() const { return dependencies_.now(); }

  /// `by` did `what` from this address.
  void audit(core::caller const& by, std::string const& from, std::string const& cluster,
             std::string const& what);
  /// Ends what expired, and tells of refusals once a minute.
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
  core::time_point looked_{};  // at what expires
  core::time_point told_{};    // of refusals
};

}  // namespace muster::server
