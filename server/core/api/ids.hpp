// Strong id types. In all of them 0 means "none".
#pragma once

#include <cstdint>
#include <type_traits>

namespace muster::core {

enum class stream_id : std::uint64_t {};   ///< one attached worker stream; assigned by the shell
enum class session_id : std::uint64_t {};  ///< one session; over REST a job (`job_…`)
enum class closure_id : std::uint64_t {};  ///< slot in the low half, generation in the high half
enum class call_id : std::uint64_t {};  ///< one parked or immediate request; assigned by the shell
enum class function_id : std::uint32_t {};  ///< an interned function name
/// One program (`prog_…`); never reused, even after a restart.
enum class program_id : std::uint64_t {};
enum class per_worker_id : std::uint64_t {};  ///< a PerWorkerValue (`pw_…`)
/// A worker's stream while it is attached: small, dense and reused. Other modules get it only from
/// changes (worker_changed).
enum class worker_number : std::uint32_t {};
enum class incarnation : std::uint64_t {};  ///< random; distinguishes a restarted task from a retry

template <class Id>
constexpr auto raw(Id id) {
  return static_cast<std::underlying_type_t<Id>>(id);
}

}  // namespace muster::core
