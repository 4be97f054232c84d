// Numbers have the native representation, because writer and reader are the same program on one
// machine.
#include <cstring>

#include "base/process/native/thread_samples.hpp"

namespace muster::native {
namespace {

void put(std::string& to, std::uint64_t number) {
  to.append(reinterpret_cast<char const*>(&number), sizeof number);
}

void put(std::string& to, std::string_view text) {
  put(to, text.size());
  to.append(text);
}

struct reader {
  std::string_view left;
  bool ok = true;

  std::uint64_t number() {
    std::uint64_t n = 0;
    auto const bytes = take(sizeof n);
    if (ok) std::memcpy(&n, bytes.data(), sizeof n);
    return n;
  }
  std::string text(std::size_t most) {
    auto const size = number();
    ok = ok && size <= most;
    return ok ? std::string(take(size)) : std::string();
  }
  std::string_view take(std::size_t size) {
    ok = ok && size <= left.size();
    if (!ok) return {};
    auto const taken = left.substr(0, size);
    left.remove_prefix(size);
    return taken;
  }
};

}  // namespace

std::string to_bytes(process_sample const& s) {
  std::string all;
  put(all, static_cast<std::uint64_t>(s.process));
  put(all, s.map);
  put(all, s.left_out);
  put(all, s.threads.size());
  for (auto const& t : s.threads) {
    put(all, static_cast<std::uint64_t>(t.thread));
    put(all, t.name);
    for (auto const r : t.registers) put(all, r);
    put(all, t.counter);
    put(all, t.stack_pointer);
    put(all, t.stack);
  }
  return all;
}

std::optional<process_sample> from_bytes(std::string_view& bytes) {
  reader in{bytes};
  process_sample s;
  s.process = static_cast<pid_t>(in.number());
  s.map = in.text(map_bytes_max);
  s.left_out = in.number();
  auto const count = in.number();
  if (count > threads_max) return {};
  for (std::uint64_t i = 0; i < count && in.ok; ++i) {
    auto& t = s.threads.emplace_back();
    t.thread = static_cast<pid_t>(in.number());
    t.name = in.text(64);
    for (auto& r : t.registers) r = in.number();
    t.counter = in.number();
    t.stack_pointer = in.number();
    t.stack = in.text(stack_bytes_max);
  }
  if (!in.ok) return {};
  bytes = in.left;
  return s;
}

}  // namespace muster::native
