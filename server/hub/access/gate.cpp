#include "server/hub/access/gate.hpp"

#include <openssl/crypto.h>

#include <array>
#include <utility>

#include "server/hub/access/token_text.hpp"

namespace muster::server {

namespace {

/// This thread's cache of valid credentials. Each entry contains the token set's generation, so
/// that a change of any token invalidates it.
struct recent {
  struct entry {
    std::uint64_t generation = 0;
    std::string credential;
    core::caller who;
  };
  ~recent() {
    for (auto& e : entries) OPENSSL_cleanse(e.credential.data(), e.credential.size());
  }
  entry& of(std::string_view credential) {
    return entries[std::hash<std::string_view>()(credential) % entries.size()];
  }
  std::array<entry, 64> entries;
};
thread_local recent shown;

bool is_same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

// The tokens are stored before their generation, so that a concurrent reader never caches old
// tokens with a new generation.
void gate::publish(std::shared_ptr<token_set const> tokens) {
  static std::atomic<std::uint64_t> last = 0;
  std::atomic_store(&tokens_, std::move(tokens));
  generation_ = ++last;
}

core::caller gate::who(std::string_view credential, std::string_view certificate) const {
  if (credential.empty() && !certificate.empty()) {
    auto const it = certificates_.find(certificate);
    return it == certificates_.end() ? nullptr : it->second;
  }
  if (credential.empty() || credential.size() > credential_bytes_max) return nullptr;
  auto const generation = generation_.load();
  auto& e = shown.of(credential);
  if (e.generation == generation && generation != 0 && is_same(e.credential, credential))
    return e.who->expires > now_() ? e.who : nullptr;
  auto found = look_up(credential);
  if (!found) return nullptr;
  OPENSSL_cleanse(e.credential.data(), e.credential.size());
  e = {generation, std::string(credential), found};
  return found;
}

core::caller gate::known(std::string_view credential, core::permission needs) const {
  if (credential.empty() || needs == core::permission::nothing) return nullptr;
  auto found = who(credential);
  return found && core::allows(found->role, needs) ? found : nullptr;
}

core::caller gate::current(core::token const& t) const {
  auto const tokens = std::atomic_load(&tokens_);
  auto const it = tokens->find(t.id);
  if (it == tokens->end()) return nullptr;
  auto const& now = it->second;
  bool const same_secret = now->salt == t.salt && now->digest == t.digest;
  return same_secret && now->expires > now_() ? now : nullptr;
}

core::caller gate::look_up(std::string_view credential) const {
  auto const tokens = std::atomic_load(&tokens_);
  auto const it = tokens->find(id_of(credential));
  // A lookup of an unknown ID takes as long as a wrong secret, so that timing does not reveal IDs.
  static core::token const nobody{.id = "nobody", .salt = "0", .digest = std::string(32, '0')};
  auto const& t = it == tokens->end() ? nobody : *it->second;
  bool const good = fits(t, credential);
  return good && it != tokens->end() && t.expires > now_() ? it->second : nullptr;
}

verdict gate::judge(asking const& a) {
  if (!required_) return {};
  verdict v;
  v.who = a.signed_in ? a.signed_in : who(a.credential, a.certificate);
  if (a.credential.empty() && !v.who) {
    if (a.needs == core::permission::nothing) return v;
    return refuse({code::unauthenticated,
                   "no credentials: send a token as 'Authorization: Bearer TOKEN' (--token, "
                   "--token-file or MUSTER_TOKEN)"},
                  a, refusals::kind::without);
  }
  if (a.needs == core::permission::nothing) return v;
  if (!v.who)
    return refuse({code::unauthenticated, "this token is unknown, revoked or expired"}, a,
                  refusals::kind::wrong);
  if (core::allows(v.who->role, a.needs)) return v;
  return refuse({code::permission_denied,
                 "token '" + v.who->id + "' has the role " + std::string(core::name(v.who->role)) +
                     ", which cannot " + std::string(core::description(a.needs))},
                a, refusals::kind::forbidden);
}

verdict gate::refuse(muster::status why, asking const& a, refusals::kind k) {
  verdict v{.status = std::move(why)};
  if (a.again) return v;
  {
    std::scoped_lock const lock(mutex_);
    ++(k == refusals::kind::without ? counts_.without
       : k == refusals::kind::wrong ? counts_.wrong
                                    : counts_.forbidden);
    v.delay = refusals_.note(a.address, k, a.what, refusals::clock::now());
  }
  if (v.delay.count() == 0) return v;
  if (waiting_->fetch_add(1) >= waiting_max) {
    waiting_->fetch_sub(1);
    v.delay = {};
    return v;
  }
  v.place = std::shared_ptr<void>(nullptr, [count = waiting_](void*) { count->fetch_sub(1); });
  return v;
}

gate::totals gate::counts() const {
  std::scoped_lock const lock(mutex_);
  auto c = counts_;
  c.tokens = std::atomic_load(&tokens_)->size();
  c.resets = resets_;
  c.cut = cut_;
  c.silent_floods = silent_floods_;
  return c;
}

std::vector<refused> gate::take_refusals() {
  std::scoped_lock const lock(mutex_);
  return refusals_.take(refusals::clock::now());
}

}  // namespace muster::server
