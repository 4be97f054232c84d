// Strong id types. In all of them, 0 means that no id is set.
#pragma once

#include <cstdint>
#include <type_traits>

namespace muster::core {

enum class stream_id : std::uint64_t {};   ///< an attached worker stream; assigned by the I/O layer
enum class session_id : std::uint64_t {};  ///< a session; called a job in REST (`job_…`)
enum class closure_id : std::uint64_t {};  ///< slot in the low half, generation in the high half
enum class call_id : std::uint64_t {};     ///< a request; assigned by the I/O layer
enum class function_id : std::uint32_t {};
/// A program (`prog_…`). Never reused, even after a restart.
enum class program_id : std::uint64_t {};
enum class per_worker_id : std::uint64_t {};  ///< a PerWorkerValue (`pw_…`)
/// Number of an attached worker: small, dense and reused. Other modules learn the number only from
/// worker_changed.
enum class worker_number : std::uint32_t {};
enum class incarnation : std::uint64_t {};  ///< random; changes when a task restarts

template <class Id>
constexpr auto raw(Id id) {
  return static_cast<std::underlying_type_t<Id>>(id);
}

}  // namespace muster::core
