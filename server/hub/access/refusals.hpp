// Who was turned away, by address: how long the next wrong credential from there waits for its
// answer, and what people are told once a minute. Owned by the gate, under its mutex.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::server {

/// Of one address in the time since they were last taken.
struct refused {
  std::string address{};        // empty: of all those that found no place in the table
  std::uint64_t without = 0;    // no credentials
  std::uint64_t wrong = 0;      // unknown, revoked or expired ones
  std::uint64_t forbidden = 0;  // good ones whose role is another
  std::string last{};           // what was asked for
};

class refusals {
 public:
  using clock = std::chrono::steady_clock;
  enum class kind : std::uint8_t { without, wrong, forbidden };

  /// Addresses that are remembered. More: they are counted together, and wait as long as one that
  /// was wrong once.
  static constexpr std::size_t addresses_max = 4'096;
  static constexpr std::chrono::milliseconds delay_first{100}, delay_max{5'000};
  /// An address that was not wrong for so long begins anew.
  static constexpr std::chrono::seconds forgiven_after{60};

  /// How long the answer waits: twice as long with each wrong one; 0 for the other kinds.
  std::chrono::milliseconds note(std::string_view address, kind k, std::string_view what,
                                 clock::time_point now);
  /// What has gathered; the delays go on.
  std::vector<refused> take(clock::time_point now);

 private:
  struct entry {
    refused told;
    std::uint32_t wrong_in_a_row = 0;
    clock::time_point last_wrong{};
  };
  void forget(clock::time_point now);

  std::map<std::string, entry, std::less<>> by_address_;
  refused others_;
};

}  // namespace muster::server
