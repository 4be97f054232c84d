// Counts refused requests by address and determines their delays. Owned by the gate and protected
// by its mutex.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::server {

struct refused {
  std::string address{};  // empty for all addresses beyond addresses_max
  std::uint64_t without = 0;
  std::uint64_t wrong = 0;      // unknown, revoked or expired credentials
  std::uint64_t forbidden = 0;  // valid credentials with an insufficient role
  std::string last{};
};

class refusals {
 public:
  using clock = std::chrono::steady_clock;
  enum class kind : std::uint8_t { without, wrong, forbidden };

  /// Maximum number of addresses. Further addresses are counted together and get only the first
  /// delay.
  static constexpr std::size_t addresses_max = 4'096;
  static constexpr std::chrono::milliseconds delay_first{100}, delay_max{5'000};
  /// After this time without a wrong credential, an address gets the first delay again.
  static constexpr std::chrono::seconds forgiven_after{60};

  /// Counts a rejected request and returns the delay before the response. The delay doubles with
  /// each wrong credential; for rejections of any other kind, it is 0.
  std::chrono::milliseconds note(std::string_view address, kind k, std::string_view what,
                                 clock::time_point now);
  /// Returns and clears the counts, but keeps the delays.
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
