// Fuzzes the TCPStore of torch.distributed without its sockets: the bytes of up to four connections
// go through their command readers to the store. The first byte of the input chooses the limits and
// the numbering of early clients. The rest are steps: a connection sends a piece, closes, or is
// known as a rank, or an attempt begins.
//
// Checked properties:
// - A second store, which receives the same pieces byte by byte, gives the same answers, refuses
//   the same connections, reports the same incidents and shows the same state.
// - The counters of the store agree with its keys, queues, waits and connections.
// - The limits for keys, bytes and awaited keys hold.
// - Every refusal is reported with a reason.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/fuzz/input_reader.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/torch/torch_clients.hpp"

namespace {

using namespace muster::torch;
using fuzz::require;

constexpr std::size_t connections_max = 4;
constexpr std::size_t listed_max = 10'000;

limits small_limits() {
  limits l;
  l.key_bytes = 64;
  l.value_bytes = 256;
  l.keys_of_a_call = 16;
  l.call_bytes = 512;
  l.answer_bytes = 300;
  l.keys = 12;
  l.bytes = 3'000;
  l.awaited_keys = 8;
  return l;
}

// Two stores, of which one receives each piece byte by byte.
class pair_of_stores {
 public:
  pair_of_stores(limits const& l, numbering early)
      : limits_(l), whole_(early, l), bytewise_(early, l) {}

  void send(std::size_t slot, std::string_view piece) {
    auto const id = opened(slot);
    whole_.send(id, piece);
    for (std::size_t i = 0; i < piece.size() && !bytewise_.is_refused(id); ++i)
      bytewise_.send(id, piece.substr(i, 1));
    compare(id);
    if (!whole_.is_refused(id)) return;
    ++refused_;
    close(slot);
  }
  void open(std::size_t slot, std::optional<std::uint32_t> rank) {
    close(slot);
    auto const peer = "10.0.0." + std::to_string(slot % 2) + ":" + std::to_string(1'000 + slot);
    slots_[slot] = whole_.open(peer, rank);
    require(bytewise_.open(peer, rank) == slots_[slot], "both stores number their connections");
  }
  void close(std::size_t slot) {
    if (slots_[slot] == 0) return;
    whole_.close(slots_[slot]);
    bytewise_.close(slots_[slot]);
    slots_[slot] = 0;
  }
  void begin_attempt() {
    for (auto* const s : {&whole_, &bytewise_}) {
      s->tcp_store.begin_attempt(attempt_cause::asked, s->now);
      s->take();
    }
  }
  void check() {
    for (auto* const s : {&whole_, &bytewise_}) {
      s->now += std::chrono::seconds(1);
      require(s->tcp_store.invalid().empty(), "the counters of a store are right");
    }
    auto const view = whole_.tcp_store.view(listed_max);
    require_same(view, bytewise_.tcp_store.view(listed_max));
    require_limits(view);
    auto const told = std::exchange(whole_.told, {});
    require_same(told, std::exchange(bytewise_.told, {}));
    auto const refused = std::count_if(told.begin(), told.end(), [](incident const& i) {
      return i.what == incident::kind::refused && !i.text.empty();
    });
    require(refused == std::exchange(refused_, 0), "every refusal is reported");
  }

 private:
  connection_id opened(std::size_t slot) {
    if (slots_[slot] == 0) open(slot, {});
    return slots_[slot];
  }

  void compare(connection_id sender) {
    for (auto const id : slots_)
      if (id != 0)
        require(whole_.read(id) == bytewise_.read(id),
                "the answers do not depend on the pieces of the commands");
    require(whole_.tcp_store.refusal(sender) == bytewise_.tcp_store.refusal(sender),
            "the refusal does not depend on the pieces of the commands");
  }

  static void require_same(std::vector<incident> const& a, std::vector<incident> const& b) {
    require(a.size() == b.size(), "both stores report the same number of incidents");
    for (std::size_t i = 0; i < a.size(); ++i)
      require(a[i].what == b[i].what && a[i].about == b[i].about && a[i].text == b[i].text,
              "both stores report the same incidents");
  }

  static void require_same(tcp_store_view const& a, tcp_store_view const& b) {
    auto const attempts = [](attempt_view const& v) {
      return std::tuple(v.number, v.cause, v.connections, v.keys, v.bytes);
    };
    auto const connections = [](connection_view const& v) {
      return std::tuple(v.id, v.attempt, v.numbering, v.rank, v.pid, v.waits_for, v.waits_since);
    };
    auto const waits = [](wait_view const& v) {
      return std::tuple(v.attempt, v.key, v.barrier, v.rank, v.since, v.waiting, v.connections);
    };
    auto const ranks = [](rank_view const& v) {
      return std::tuple(v.rank, v.connection, v.peer, v.pid, v.connected);
    };
    require_same(a.attempts, b.attempts, attempts);
    require_same(a.shown, b.shown, connections);
    require_same(a.waits, b.waits, waits);
    require_same(a.ranks, b.ranks, ranks);
    require(a.missing == b.missing, "both stores miss the same ranks");
  }
  template <class View, class Fields>
  static void require_same(std::vector<View> const& a, std::vector<View> const& b,
                           Fields const& fields_of) {
    require(a.size() == b.size(), "both stores show lists of the same length");
    for (std::size_t i = 0; i < a.size(); ++i)
      require(fields_of(a[i]) == fields_of(b[i]), "both stores show the same state");
  }

  void require_limits(tcp_store_view const& v) const {
    std::size_t keys = 0, bytes = 0, awaited = 0;
    for (auto const& a : v.attempts) keys += a.keys, bytes += a.bytes;
    for (auto const& w : v.waits) awaited += w.waiting;
    require(v.attempts.size() <= 2, "at most two attempts are kept");
    require(keys <= limits_.keys, "the number of keys is limited");
    require(bytes <= limits_.bytes, "the bytes of keys and values are limited");
    require(awaited <= limits_.awaited_keys, "the number of awaited keys is limited");
  }

  limits const limits_;
  clients whole_, bytewise_;
  std::array<connection_id, connections_max> slots_{};  // 0 without a connection
  std::ptrdiff_t refused_ = 0;                          // since the last check
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::input_reader input(data, size);
  auto const options = input.byte();
  pair_of_stores stores((options & 2) != 0 ? small_limits() : limits(),
                        (options & 1) != 0 ? numbering::b : numbering::a);
  while (!input.at_end()) {
    auto const step = input.byte();
    auto const slot = step % connections_max;
    switch (step / connections_max % 8) {
      case 0:
        stores.close(slot);
        break;
      case 1:
        stores.open(slot, input.byte());
        break;
      case 2:
        stores.begin_attempt();
        break;
      case 3:
        stores.send(slot, input.piece(input.two_bytes()));
        break;
      default:
        stores.send(slot, input.piece(input.byte()));
    }
    stores.check();
  }
  return 0;
}
