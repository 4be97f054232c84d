// Strong ids. 0 means "none" in every one of them.
#pragma once

#include <cstdint>
#include <type_traits>

namespace muster::core {

enum class stream_id : std::uint64_t {};   ///< one attached worker stream; minted by the shell
enum class session_id : std::uint64_t {};  ///< one session; over REST a job (`job_…`)
enum class closure_id : std::uint64_t {};  ///< slot in the low half, generation in the high half
enum class call_id : std::uint64_t {};     ///< one parked or immediate request; minted by the shell
enum class function_id : std::uint32_t {};  ///< an interned function name
enum class program_id : std::uint64_t {};  ///< one program (`prog_…`); later processes give others
enum class per_worker_id : std::uint64_t {};  ///< a PerWorkerValue (`pw_…`)
/// A worker's stream while it is attached: small, dense, used again. Others are told of it by
/// changes (worker_changed) alone.
enum class worker_number : std::uint32_t {};
enum class incarnation : std::uint64_t {};  ///< random; tells a restarted task from a retry

template <class Id>
constexpr auto raw(Id id) {
  return static_cast<std::underlying_type_t<Id>>(id);
}

}  // namespace muster::core
