// Judges credentials, for every way into the server. Any thread: it reads what the token_keeper
// published last.
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

/// Who asks, and for what.
struct asking {
  std::string_view credential;  // as it came, without "Bearer"; empty: none
  std::string_view address;     // "10.0.0.3"
  std::string_view what;        // for people: "POST /api/v1/jobs"
  core::permission needs = core::permission::nothing;
  std::string_view certificate{};  // common name of a client's certificate that was verified
  bool again = false;              // of somebody who was let in before: a refusal is not noted
  core::caller signed_in{};        // identified by a sign-in instead of a credential; null: not
};

struct verdict {
  muster::status status;  // UNAUTHENTICATED; PERMISSION_DENIED: by the role
  core::caller who{};     // null: nobody is asked, or nobody in particular
  /// A refusal is told so much later, by whoever has asked; `place` is held meanwhile.
  std::chrono::milliseconds delay{0};
  std::shared_ptr<void> place{};
};

class gate {
 public:
  /// Answers that wait at one time. More are told at once, so that waiting takes no connections
  /// from those who have a right to them.
  static constexpr int waiting_max = 64;

  /// `now`: for what expires.
  explicit gate(std::function<core::time_point()> now) : now_(std::move(now)) {}

  /// From now on nobody may anything without a token. Before anybody is served.
  void require() { required_ = true; }
  /// Whether callers must have a token.
  bool required() const { return required_; }
  /// Notes that the server requires tokens as soon as it starts with some. Before anybody is
  /// served.
  void require_after_restart() { after_restart_ = true; }
  /// Returns whether tokens exist that are required only after the next start of the server.
  bool required_after_restart() const {
    return after_restart_ && !required_ && !std::atomic_load(&tokens_)->empty();
  }
  /// Who shows a certificate of this common name, and no token, is this. As require.
  void allow_certificates(token_set all) { certificates_ = std::move(all); }
  /// From now on these are the tokens. Engine thread.
  void publish(std::shared_ptr<token_set const> tokens);

  /// Everything is allowed, to nobody in particular, while no token is required.
  verdict judge(asking const& a);
  /// Null: the credential is nobody's. No more than that: no refusal is noted.
  core::caller who(std::string_view credential, std::string_view certificate = {}) const;
  /// Returns the token of this id as it is now. Null if it was revoked, if its secret is another
  /// one, or if it has expired.
  core::caller current(core::token const& t) const;
  /// As judge for who is let in, for less: null when that has to look, and maybe to refuse.
  core::caller known(std::string_view credential, core::permission needs) const;

  /// Who was turned away since the start: without a token, with a wrong one, by their role.
  struct totals {
    std::uint64_t without = 0, wrong = 0, forbidden = 0;
    std::size_t tokens = 0;  // that are known now
    // Calls of gRPC that were reset soon after they came, connections that were cut for that, and
    // times that an address had left too many connections without a word.
    std::uint64_t resets = 0, cut = 0, silent_floods = 0;
  };
  totals counts() const;
  void note_reset() { ++resets_; }
  void note_cut() { ++cut_; }
  /// Any thread; told of by on_silent_flood, which is set before anybody is served.
  void note_silent_flood(std::string const& address) {
    ++silent_floods_;
    on_silent_flood(address);
  }
  std::function<void(std::string const& address)> on_silent_flood = [](auto const&) {};
  /// Who was turned away since the last time.
  std::vector<refused> take_refusals();

 private:
  core::caller look_up(std::string_view credential) const;
  verdict refuse(muster::status why, asking const& a, refusals::kind k);

  std::function<core::time_point()> const now_;
  std::atomic<bool> required_ = false;
  bool after_restart_ = false;  // fixed once somebody is served
  token_set certificates_;      // fixed once somebody is served
  std::shared_ptr<token_set const> tokens_ = std::make_shared<token_set const>();
  std::atomic<std::uint64_t> generation_ = 0;  // of tokens_, unlike any other gate's
  std::shared_ptr<std::atomic<int>> const waiting_ = std::make_shared<std::atomic<int>>(0);
  std::atomic<std::uint64_t> resets_ = 0, cut_ = 0, silent_floods_ = 0;
  mutable std::mutex mutex_;  // protects the following
  refusals refusals_;
  totals counts_;
};

}  // namespace muster::server
