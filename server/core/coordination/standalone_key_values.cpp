// Keys and waits for them. Independent of the tasks' states: no registration is needed.
#include "server/core/coordination/standalone_service.hpp"

namespace muster::core::coordination {

void standalone_service::inherit(service& before) {
  if (auto* same = dynamic_cast<standalone_service*>(&before)) store_.take_entries(same->store_);
}

void standalone_service::on(insert_key_value& r) {
  auto const key = normal_key(r.key);
  auto const stored = store_.insert(now_, key, std::move(r.value), r.overwrite);
  // Clients know this one by its missing payload.
  if (!stored.ok())
    return refuse(r.from, stored.code, stored.message, stored.code != code::already_exists);
  answer(r.from.call, std::monostate{});
  wake(key);
}

void standalone_service::wake(std::string const& key) {
  if (store_.waiting().empty()) return;
  auto const calls = store_.wake(key);
  if (calls.empty()) return;
  auto const value = store_.find(key)->value;
  for (auto const call : calls) {
    auto p = parked_.take(call);
    answer(call, key_value(p.asked.empty() ? key : std::move(p.asked), value));
  }
}

void standalone_service::on(get_key_value& r) {
  auto key = normal_key(r.key);
  if (auto const* e = store_.find(key))
    return answer(r.from.call, key_value(std::move(r.key), e->value));
  if (!r.wait)
    return refuse(r.from, code::not_found, "Config key " + shortened(r.key, 2'000) + " not found.");
  if (key.size() > limits_.key_bytes_max)
    return refuse(r.from, code::invalid_argument,
                  "key: has " + std::to_string(key.size()) + " bytes, the limit is " +
                      std::to_string(limits_.key_bytes_max));
  if (parked_.size() >= limits_.parked_calls_max)
    return refuse(r.from, code::resource_exhausted,
                  "the cluster has reached its limit of parked calls");
  if (r.peer.empty()) r.peer = r.from.peer;
  auto p = waiting(wait_kind::key, r.from, roll_.find(r.incarnation, r.peer));
  p.peer = std::move(r.peer);
  if (key != r.key) p.asked = std::move(r.key);
  p.key = &store_.wait(std::move(key), r.from.call);
  park(r.from, std::move(p));
}

void standalone_service::on(increment_key_value& r) {
  auto const key = normal_key(r.key);
  auto sum = store_.increment(now_, key, r.increment);
  if (!sum) return refuse(r.from, sum.error().code, sum.error().message);
  answer(r.from.call, key_value(std::move(r.key), *sum));
  wake(key);
}

void standalone_service::on(get_key_value_dir& r) {
  answer(r.from.call, store_.below(normal_key(r.directory)));
}

void standalone_service::on(delete_key_value& r) {
  store_.erase(normal_key(r.key));
  answer(r.from.call, std::monostate{});
}

}  // namespace muster::core::coordination
