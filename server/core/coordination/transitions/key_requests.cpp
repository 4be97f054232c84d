#include "server/core/coordination/transitions/key_requests.hpp"

namespace muster::core::coordination {

void key_requests::on(insert_key_value& r) {
  auto const key = normal_key(r.key);
  auto const stored = store_.insert(step_.now, key, std::move(r.value), r.overwrite);
  // Clients recognize ALREADY_EXISTS because the error has no payload.
  if (!stored.ok())
    return step_.refuse(r.from, stored.code, stored.message, stored.code != code::already_exists);
  step_.answer(r.from.call, std::monostate{});
  wake(key);
  if (notices_.is_notice(key)) notices_.notice_set();
}

void key_requests::wake(std::string const& key) {
  if (store_.waiting().empty()) return;
  auto waiters = store_.wake(key);
  if (waiters.empty()) return;
  auto const value = store_.find(key)->value;
  for (auto& [call, w] : waiters) {
    auto const waited = step_.calls.take(call);
    if (notices_.is_notice(key)) notices_.listened(waited, true);
    step_.answer(call, key_value(w.asked.empty() ? key : std::move(w.asked), value));
  }
}

// Keys can be used without a registration, so the call's own fields identify the waiting task.
void key_requests::on(get_key_value& r) {
  auto const key = normal_key(r.key);
  if (auto const* e = store_.find(key))
    return step_.answer(r.from.call, key_value(std::move(r.key), e->value));
  if (!r.wait)
    return step_.refuse(r.from, code::not_found,
                        "Config key " + shortened(r.key, 2'000) + " not found.");
  if (auto const most = step_.limits.key_bytes_max; key.size() > most)
    return step_.refuse(r.from, code::invalid_argument, longer_than("key", key.size(), most));
  if (step_.refused_as_full(r.from)) return;
  if (r.peer.empty()) r.peer = r.from.peer;
  auto const t = registry_.find(r.incarnation, r.peer);
  key_value_store::waiter w{key == r.key ? std::string() : std::move(r.key), std::move(r.peer)};
  auto const id = store_.wait(key, r.from.call, std::move(w));
  step_.park(r.from, wait_kind::key, t, raw(id));
  if (notices_.is_notice(key)) notices_.listen(t);
}

void key_requests::on(increment_key_value& r) {
  auto const key = normal_key(r.key);
  auto sum = store_.increment(step_.now, key, r.increment);
  if (!sum) return step_.refuse(r.from, sum.error().code, sum.error().message);
  step_.answer(r.from.call, key_value(std::move(r.key), *sum));
  wake(key);
}

void key_requests::on(get_key_value_dir& r) {
  step_.answer(r.from.call, store_.below(normal_key(r.directory)));
}

void key_requests::on(delete_key_value& r) {
  store_.erase(normal_key(r.key));
  step_.answer(r.from.call, std::monostate{});
}

void key_requests::withdraw(call_id call, waiting_call const& w) {
  if (notices_.is_notice(store_.awaited(w.key()))) notices_.listened(w, false);
  store_.withdraw(w.key(), call);
}

}  // namespace muster::core::coordination
