// Authenticates and authorizes all requests to the server, using the tokens last published by the
// token_keeper. Thread-safe. Settings must be made before requests are served.
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
  std::string_view credential;  // without "Bearer"; may be empty
  std::string_view address;     // "10.0.0.3"
  std::string_view what;        // text for messages, such as "POST /api/v1/jobs"
  core::permission needs = core::permission::nothing;
  std::string_view certificate{};  // common name of a verified certificate
  bool again = false;              // repeats a check of an admitted caller; refusals are not
                                   // counted
  core::caller signed_in{};        // set if a sign-in identifies the caller
};

struct verdict {
  muster::status status;  // PERMISSION_DENIED if the role is insufficient
  core::caller who{};     // null if no token is required or the caller is anonymous
  /// The caller must delay a refusal by this time and hold `place` until then.
  std::chrono::milliseconds delay{0};
  std::shared_ptr<void> place{};
};

class gate {
 public:
  /// Maximum number of delayed refusals. At the limit, refusals are sent immediately, so that they
  /// do not exhaust connections.
  static constexpr int waiting_max = 64;

  explicit gate(std::function<core::time_point()> now) : now_(std::move(now)) {}

  void require() { required_ = true; }
  bool required() const { return required_; }
  void require_after_restart() { after_restart_ = true; }
  /// Returns whether tokens exist that will be required only after the next server start.
  bool required_after_restart() const {
    return after_restart_ && !required_ && !std::atomic_load(&tokens_)->empty();
  }
  /// Sets the tokens of callers that present a certificate instead of a credential, by common name.
  void allow_certificates(token_set all) { certificates_ = std::move(all); }
  /// Replaces the tokens. Called only on the engine thread.
  void publish(std::shared_ptr<token_set const> tokens);

  /// Authenticates and authorizes a request. Allows all requests while no token is required.
  verdict judge(asking const& a);
  /// Returns the credential's token, or null if it is invalid. Does not count refusals.
  core::caller who(std::string_view credential, std::string_view certificate = {}) const;
  /// Returns a token's current state, or null if the token is no longer valid.
  core::caller current(core::token const& t) const;
  /// Returns the caller if the credential grants the permission. Cheaper than `judge`, which must
  /// decide if this function returns null. Does not count refusals.
  core::caller known(std::string_view credential, core::permission needs) const;

  struct totals {
    std::uint64_t without = 0, wrong = 0, forbidden = 0;
    std::size_t tokens = 0;
    // gRPC calls reset soon after their start, connections closed for that reason, and floods of
    // silent connections from one address.
    std::uint64_t resets = 0, cut = 0, silent_floods = 0;
  };
  totals counts() const;
  void note_reset() { ++resets_; }
  void note_cut() { ++cut_; }
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
  bool after_restart_ = false;  // constant while requests are served
  token_set certificates_;      // constant while requests are served
  std::shared_ptr<token_set const> tokens_ = std::make_shared<token_set const>();
  std::atomic<std::uint64_t> generation_ = 0;  // generation of tokens_; unique across gates
  std::shared_ptr<std::atomic<int>> const waiting_ = std::make_shared<std::atomic<int>>(0);
  std::atomic<std::uint64_t> resets_ = 0, cut_ = 0, silent_floods_ = 0;
  mutable std::mutex mutex_;  // protects the following members
  refusals refusals_;
  totals counts_;
};

}  // namespace muster::server
