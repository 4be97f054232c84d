#include "server/core/coordination/api/fault.hpp"

namespace muster::core::coordination {

std::size_t fitting(std::string_view text, std::size_t bytes) {
  std::size_t n = 0;
  for (; n < text.size(); ++n) {
    auto const plain = text[n] >= 0x20 && text[n] <= 0x7E && text[n] != '%';
    std::size_t const cost = plain ? 1 : 3;
    if (cost > bytes) break;
    bytes -= cost;
  }
  return n;
}

std::string cut(std::string_view message, std::size_t details_bytes) {
  auto const room = trailer_bytes_max - std::min(trailer_bytes_max, details_bytes * 4 / 3);
  return shortened(message, fitting(message.substr(0, message_bytes_max), room));
}

fault_ptr refusal(code c, std::string_view message, bool coordination) {
  return std::make_shared<fault const>(
      fault{.code = c, .message = cut(message), .coordination = coordination});
}

fault_ptr task_fault(task_index t, code c, std::string_view message, bool reported) {
  return std::make_shared<fault const>(
      fault{.code = c, .message = cut(message), .source = t, .reported = reported});
}

fault_ptr heartbeat_fault(fault const& told, std::string const& how) {
  auto f = std::make_shared<fault>(told);
  f->code = code::aborted;
  f->message = cut("The cluster has failed" + how + ". Error: " + told.message,
                   told.barrier ? told.barrier->id.size() : 0);
  return f;
}

fault_ptr barrier_fault(barrier_instance b, code c, std::string_view message) {
  auto text = cut(message, b.id.size());
  return std::make_shared<fault const>(
      fault{.code = c, .message = std::move(text), .barrier = std::move(b)});
}

fault wrong_service(core::incarnation believed, core::incarnation now) {
  return {.code = code::internal,
          .message = "wrong service incarnation: requested " + std::to_string(raw(believed)) +
                     ", currently " + std::to_string(raw(now)),
          .mismatch = now};
}

std::string longer_than(std::string_view field, std::size_t bytes, std::size_t bytes_max) {
  return std::string(field) + ": has " + std::to_string(bytes) + " bytes, the limit is " +
         std::to_string(bytes_max);
}

}  // namespace muster::core::coordination
