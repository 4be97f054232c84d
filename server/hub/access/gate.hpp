// Authenticates and authorizes all requests to the server. Any thread: it uses the tokens that the
// token_keeper published last. Settings are made before requests are served.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "server/core/access/token.hpp"
#include "server/hub/access/refusals.hpp"

namespace muster::server {

using token_set = std::map<std::string, core::caller, std::less<>>;

struct asking {
  std::string_view credential;  // without "Bearer"; empty: none
  std::string_view address;     // "10.0.0.3"
  std::string_view what;        // for messages: "POST /api/v1/jobs"
  core::permission needs = core::permission::nothing;
  std::string_view certificate{};  // common name of a verified client certificate
  bool again = false;              // repeated check of an admitted caller: a refusal is not counted
  core::caller signed_in{};        // set if a sign-in identifies the caller; else null
};

struct verdict {
  muster::status status;  // UNAUTHENTICATED, or PERMISSION_DENIED if the role does not suffice
  core::caller who{};     // null: no token is required, or the caller is anonymous
  /// The caller must delay a refusal by this time, and keep `place` until then.
  std::chrono::milliseconds delay{0};
  std::shared_ptr<void> place{};
};

class gate {
 public:
  /// Maximum number of delayed answers. Beyond it, refusals are not delayed, so that they do not
  /// use up connections.
  static constexpr int waiting_max = 64;

  explicit gate(std::function<core::time_point()> now) : now_(std::move(now)) {}

  /// Requires a token for every request.
  void require() { required_ = true; }
  bool required() const { return required_; }
  /// Records that the server will require tokens after the next start if there are any.
  void require_after_restart() { after_restart_ = true; }
  /// Returns whether there are tokens that only the next start of the server will require.
  bool required_after_restart() const {
    return after_restart_ && !required_ && !std::atomic_load(&tokens_)->empty();
  }
  /// Sets the tokens of callers that present a certificate with a known common name and no token.
  void allow_certificates(token_set all) { certificates_ = std::move(all); }
  /// Replaces the tokens. Engine thread.
  void publish(std::shared_ptr<token_set const> tokens);

  /// Authorizes a request. While no token is required, everything is allowed and `who` is null.
  verdict judge(asking const& a);
  /// Returns the token of a credential; null if it is invalid. Does not count refusals.
  core::caller who(std::string_view credential, std::string_view certificate = {}) const;
  /// Returns the current state of a token; null if it was revoked, rotated, or has expired.
  core::caller current(core::token const& t) const;
  /// Returns the caller if the credential grants the permission. Cheaper than `judge`: returns null
  /// if `judge` must decide, and counts nothing.
  core::caller known(std::string_view credential, core::permission needs) const;

  /// Refused requests since the start: without a token, with a wrong token, or with an insufficient
  /// role.
  struct totals {
    std::uint64_t without = 0, wrong = 0, forbidden = 0;
    std::size_t tokens = 0;
    // gRPC calls that were reset soon after their start, connections that were closed for that, and
    // floods of connections without data from one address.
    std::uint64_t resets = 0, cut = 0, silent_floods = 0;
  };
  totals counts() const;
  void note_reset() { ++resets_; }
  void note_cut() { ++cut_; }
  /// Counts a flood and calls on_silent_flood, which must be set before requests are served. Any
  /// thread.
  void note_silent_flood(std::string const& address) {
    ++silent_floods_;
    on_silent_flood(address);
  }
  std::function<void(std::string const& address)> on_silent_flood = [](auto const&) {};
  std::vector<refused> take_refusals();

 private:
  core::caller look_up(std::string_view credential) const;
  verdict refuse(muster::status why, asking const& a, refusals::kind k);

  std::function<core::time_point()> const now_;
  std::atomic<bool> required_ = false;
  bool after_restart_ = false;  // constant once requests are served
  token_set certificates_;      // constant once requests are served
  std::shared_ptr<token_set const> tokens_ = std::make_shared<token_set const>();
  std::atomic<std::uint64_t> generation_ = 0;  // of tokens_; unique across gates
  std::shared_ptr<std::atomic<int>> const waiting_ = std::make_shared<std::atomic<int>>(0);
  std::atomic<std::uint64_t> resets_ = 0, cut_ = 0, silent_floods_ = 0;
  mutable std::mutex mutex_;  // protects the following
  refusals refusals_;
  totals counts_;
};

}  // namespace muster::server
