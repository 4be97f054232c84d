// How errors are made.
#include "server/core/coordination/errors/faults.hpp"

namespace muster::core::coordination {
namespace {

// Metadata of a reply has 8 KB; this much is for text and details.
constexpr std::size_t trailer_bytes_max = 7'000;

}  // namespace

std::string cut(std::string_view message, std::size_t details_bytes) {
  auto room = trailer_bytes_max - std::min(trailer_bytes_max, details_bytes * 4 / 3);
  std::size_t n = 0;
  for (; n < message.size() && n < message_bytes_max; ++n) {
    auto const plain = message[n] >= 0x20 && message[n] <= 0x7E && message[n] != '%';
    std::size_t const cost = plain ? 1 : 3;
    if (cost > room) break;
    room -= cost;
  }
  return shortened(message, n);
}

fault_ptr refusal(code c, std::string_view message, bool coordination) {
  auto f = std::make_shared<fault>();
  f->code = c;
  f->message = cut(message);
  f->coordination = coordination;
  return f;
}

fault_ptr task_fault(task_index t, code c, std::string_view message, bool reported) {
  auto f = std::make_shared<fault>();
  f->code = c;
  f->message = cut(message);
  f->source = t;
  f->reported = reported;
  return f;
}

fault_ptr heartbeat_fault(fault const& told, std::string const& how) {
  auto f = std::make_shared<fault>(told);
  f->code = code::aborted;
  f->message = cut("The cluster has failed" + how + ". Error: " + told.message,
                   told.barrier ? told.barrier->id.size() : 0);
  return f;
}

fault_ptr barrier_fault(barrier_instance b, code c, std::string_view message) {
  auto f = std::make_shared<fault>();
  f->code = c;
  f->message = cut(message, b.id.size());
  f->barrier = std::move(b);
  return f;
}

}  // namespace muster::core::coordination
