#include "server/hub/blob_holders.hpp"

#include <openssl/rand.h>

#include "base/check.hpp"

namespace muster::server {
namespace {

constexpr int ticket_bytes = 32;

}  // namespace

// Who puts a value under its name shows this number, so others must not guess it.
core::holder_id blob_holders::open(holder_sink& sink, std::string socket, std::string task, peer p,
                                   core::holder_id former) {
  core::holder_id id = 0;
  check(RAND_bytes(reinterpret_cast<unsigned char*>(&id), sizeof(id)) == 1,
        "the system has random numbers");
  table_.open(id, std::move(socket), std::move(task), former);
  holders_[id] = {&sink, std::move(p)};
  return id;
}

void blob_holders::close(core::holder_id id, core::time_point now) {
  table_.close(id, now);
  holders_.erase(id);
}

std::optional<blob_holders::place> blob_holders::find(std::string_view name) const {
  auto const found = table_.find(name);
  if (!found) return {};
  return place{table_.socket_of(found->by), table_.task_of(found->by), found->size};
}

std::optional<blob_holders::ticket> blob_holders::give_ticket(std::string_view name) {
  auto const found = table_.find(name);
  if (!found) return {};
  auto const& by = holders_.at(found->by);
  if (by.at.address.empty()) return {};
  std::string bytes(ticket_bytes, '\0');
  check(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), ticket_bytes) == 1,
        "the system has random numbers");
  if (!by.sink->on_ticket(bytes, name)) return {};
  return ticket{by.at, std::move(bytes)};
}

bool blob_holders::want(std::string_view name) {
  auto const found = table_.find(name);
  if (!found) return false;
  holders_.at(found->by).sink->on_wanted(name);
  return true;
}

void blob_holders::not_named(std::string_view name) {
  if (auto const worker = table_.not_named(name)) holders_.at(*worker).sink->on_unneeded(name);
}

std::vector<std::string> blob_holders::sweep(core::time_point now, needs const& by) {
  for (auto const& name : table_.take_copied(now, looks))
    if (by.is_named(name) && !by.is_at_server(name)) want(name);
  for (auto const& name : table_.take_told(now, looks))
    if (!by.is_named(name)) not_named(name);
  auto lost = table_.take_lost(now, looks);
  std::erase_if(lost,
                [&](auto const& name) { return !by.is_named(name) || by.is_at_server(name); });
  return lost;
}

}  // namespace muster::server
