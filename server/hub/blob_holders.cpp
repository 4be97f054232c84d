#include "server/hub/blob_holders.hpp"

#include <openssl/rand.h>

#include "base/check.hpp"

namespace muster::server {
namespace {

constexpr int ticket_bytes = 32;

}  // namespace

// The ID is random so that other processes cannot guess it: a process presents it when it uploads a
// value under its name.
core::holder_id blob_holders::open(holder_sink& sink, core::holder_hello hello, peer p) {
  core::holder_id id = 0;
  check(RAND_bytes(reinterpret_cast<unsigned char*>(&id), sizeof(id)) == 1,
        "the system must provide random bytes");
  table_.open(id, std::move(hello));
  holders_[id] = {&sink, std::move(p)};
  return id;
}

void blob_holders::close(core::holder_id id, core::time_point now) {
  table_.close(id, now);
  holders_.erase(id);
}

std::vector<blob_holders::place> blob_holders::places(std::string_view name,
                                                      std::string_view host) {
  std::vector<place> found;
  for (auto const id : table_.holders_round_robin(name, host)) {
    auto const& h = table_.of(id);
    bool const known = !host.empty() && !h.host.empty();
    found.push_back({id, h.socket, known && h.host == host, known && h.host != host});
  }
  return found;
}

std::vector<std::string> blob_holders::tasks(std::string_view name) const {
  std::vector<std::string> found;
  auto const* p = table_.find(name);
  if (!p || !p->output) return found;
  if (p->maker != 0) found.push_back(table_.of(p->maker).task);
  for (auto const id : p->by)
    if (id != p->maker) found.push_back(table_.of(id).task);
  return found;
}

std::optional<blob_holders::ticket> blob_holders::give_ticket(std::string_view name,
                                                              core::holder_id from) {
  auto const& by = holders_.at(from);
  if (by.at.address.empty()) return {};
  std::string bytes(ticket_bytes, '\0');
  check(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), ticket_bytes) == 1,
        "the system must provide random bytes");
  if (!by.sink->on_ticket(bytes, name)) return {};
  return ticket{by.at, std::move(bytes)};
}

bool blob_holders::want(std::string_view name, core::time_point now) {
  auto const by = table_.choose_uploader(name, now);
  if (!by) return false;
  holders_.at(*by).sink->on_upload_requested(name);
  return true;
}

void blob_holders::release_output(std::string_view name) {
  auto const workers = table_.workers_to_drop(name);
  for (auto const id : workers) holders_.at(id).sink->on_released(name);
}

std::vector<std::string> blob_holders::sweep(core::time_point now, needs const& by) {
  for (auto const& name : table_.take_copied(now, looks))
    if (by.is_named(name) && !by.is_at_server(name)) want(name, now);
  for (auto const& name : table_.take_orphans(now, looks))
    if (by.is_named(name) && !by.is_at_server(name)) want(name, now);
  for (auto const& name : table_.take_unreferenced(now, looks))
    if (!by.is_named(name)) release_output(name);
  auto lost = table_.take_lost(now, looks);
  std::erase_if(lost,
                [&](auto const& name) { return !by.is_named(name) || by.is_at_server(name); });
  return lost;
}

}  // namespace muster::server
