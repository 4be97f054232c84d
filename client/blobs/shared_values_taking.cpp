// Fetches a value by trying each place that the server returns for it.
#include <absl/strings/escaping.h>

#include "client/blobs/shared_values.hpp"
#include "client/log_line.hpp"

namespace muster::detail {
namespace {

// Older servers return a single holder.
std::vector<v1::BlobHolder> holders_of(v1::BlobPlace const& place) {
  if (place.holder_size() > 0) return {place.holder().begin(), place.holder().end()};
  v1::BlobHolder one;
  one.set_unix_socket(place.unix_socket());
  one.set_peer(place.peer());
  one.set_ticket(place.ticket());
  one.set_certificate(place.certificate());
  return {std::move(one)};
}

}  // namespace

shared_values::memory shared_values::take(std::string const& name, std::string const& task,
                                          locate const& where, kept const& then) {
  bool is_tried = false;
  // A holder that is unreachable through its Unix socket may be reachable through its TCP port.
  for (auto const& host : {this_host(), std::string()}) {
    v1::BlobPlace place;
    if (!where(host, place)) return {};
    bool tickets = false;
    auto const holders = holders_of(place);
    for (auto const& from : holders) {
      if (!from.unix_socket().empty() && !is_tried)
        if (auto made = take_shared(from, name, place, task, then)) {
          reporter_for(task)->taken(place.size());
          return made;
        }
      if (from.ticket().empty()) continue;
      tickets = true;
      if (auto made = take_copy(from, name, place, task)) {
        then(made);
        return made;
      }
    }
    if (is_tried || tickets) return {};
    is_tried = true;
  }
  return {};
}

shared_values::memory shared_values::take_shared(v1::BlobHolder const& from,
                                                 std::string const& name,
                                                 v1::BlobPlace const& place,
                                                 std::string const& task, kept const& then) {
  bool const copies = place.may_copy() && !task.empty();
  auto const made = std::make_shared<memory>();
  auto const got = [this, name, task, copies, then, made](file_descriptor fd) {
    *made = std::make_shared<mapping const>(fd.get());
    then(*made);
    if (copies) hold_copy(name, std::move(fd), *made, task);
  };
  std::string why;
  if (taker_.take(from.unix_socket(), name, place.size(), true, got, why)) return *made;
  log(log_level::debug, absl::BytesToHexString(name) + " cannot be shared: " + why);
  return {};
}

shared_values::memory shared_values::take_copy(v1::BlobHolder const& from, std::string const& name,
                                               v1::BlobPlace const& place,
                                               std::string const& task) {
  std::string why;
  peer_place const at{from.peer(), from.ticket(), from.certificate()};
  auto fd = peer_taker_.take(at, name, place.size(), why);
  if (!fd) {
    log(log_level::info, why);
    return {};
  }
  memory made;
  try {
    made = std::make_shared<mapping const>(fd.get());
  } catch (std::system_error const& e) {
    log(log_level::info, std::string("the received value cannot be used: ") + e.what());
    return {};
  }
  reporter_for(task)->copied(place.size());
  if (place.may_copy() && !task.empty()) hold_copy(name, std::move(fd), made, task);
  return made;
}

void shared_values::hold_copy(std::string const& name, file_descriptor fd, memory const& bytes,
                              std::string const& task) {
  auto const size = bytes->bytes().size();
  auto const via = reporter_for(task);
  if (!reserve(size)) return;
  std::lock_guard held(mutex_);
  if (closed_ || entries_.contains(name)) return giver_.unreserve(size);
  giver_.add(name, std::move(fd), size);
  auto& e = entries_[name];
  e.bytes = bytes;
  e.via = via;
  e.output = e.copy = true;
  e.last_use = clock::now();
  via->announce({name, size, true});
}

}  // namespace muster::detail
