// One look-up and one digest for each credential.
#include "server/hub/access/gate.hpp"

#include <utility>

#include "server/hub/access/token_text.hpp"

namespace muster::server {

core::caller gate::who(std::string_view credential, std::string_view certificate) const {
  if (credential.empty() && !certificate.empty()) {
    auto const it = certificates_.find(certificate);
    return it == certificates_.end() ? nullptr : it->second;
  }
  if (credential.empty() || credential.size() > credential_bytes_max) return nullptr;
  auto const tokens = std::atomic_load(&tokens_);
  auto const it = tokens->find(id_of(credential));
  // One that is unknown takes as long as one that is wrong.
  static core::token const nobody{.id = "nobody", .salt = "0", .digest = std::string(32, '0')};
  auto const& t = it == tokens->end() ? nobody : *it->second;
  bool const good = fits(t, credential);
  return good && it != tokens->end() && t.expires > now_() ? it->second : nullptr;
}

verdict gate::judge(asking const& a) {
  if (!required_) return {};
  verdict v;
  v.who = who(a.credential, a.certificate);
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
                 "token '" + v.who->id + "' is a " + std::string(core::name(v.who->role)) +
                     "'s, who may not " + std::string(core::description(a.needs))},
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
  return c;
}

std::vector<refused> gate::take_refusals() {
  std::scoped_lock const lock(mutex_);
  return refusals_.take(refusals::clock::now());
}

}  // namespace muster::server
