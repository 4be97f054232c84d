// One caller's requests to create, find, call and delete objects on tasks. Requests are numbered,
// so that requests lost with a broken stream are resent but executed only once. States of a
// request:
//
//     asked ──fill──► sent ──take──► answered, and acknowledged in `taken`
//                      └── the stream broke: `again` resends all unanswered requests, in order
//
// The caller is a coordinator's session, or a worker with all its functions and methods. Handles
// and values share the ownership of this object. Thread-safe.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "client/objects/object_caller_scope.hpp"
#include "client/session/waiting.hpp"
#include "muster/remote_object.hpp"
#include "muster/v1/objects.pb.h"

namespace muster::detail {

class object_calls final : public object_caller, public std::enable_shared_from_this<object_calls> {
 public:
  /// Limits for unanswered calls and for their argument bytes. At the limit, callers wait.
  static constexpr std::size_t calls_max = 8192;
  static constexpr std::size_t bytes_max = std::size_t{64} << 20;
  /// Maximum number of deletions that the server has not confirmed.
  static constexpr std::size_t drops_max = 10'000;
  /// Maximum number of waiting methods reported per call.
  static constexpr std::size_t waits_max = 64;
  /// Limits for the unacknowledged answers that the server keeps.
  static constexpr std::size_t taken_max = 256;
  static constexpr std::size_t taken_bytes_max = std::size_t{64} << 10;
  static constexpr std::size_t per_message_max = 1000;
  static constexpr std::size_t bytes_per_message_max = std::size_t{256} << 10;
  static constexpr std::size_t calls_in_flight_max = 8;
  /// Delays before resending a request that the server had no room for; the delay doubles each
  /// time.
  static constexpr std::chrono::milliseconds repeat_min{50}, repeat_max{2000};

  /// `ticket` is the session's secret. A worker passes an empty ticket and sends the handle's
  /// ticket with each call.
  explicit object_calls(std::string ticket) : ticket_(std::move(ticket)) {}

  /// Must be called first. `wake` announces waiting requests, and is called on any thread, without
  /// locks. `later` requests a delayed repeat(), and is called on the thread that processes
  /// answers. `erased` is called for each deleted object. `lost` is called when a restarted server
  /// has lost an object.
  void begin(
      std::function<void()> wake,
      std::function<void(std::chrono::milliseconds)> later = [](auto) {},
      std::function<void(std::uint64_t)> erased = [](auto) {},
      std::function<void(std::string const&, failure const&)> lost = [](auto&, auto&) {}) {
    wake_ = std::move(wake);
    later_ = std::move(later);
    erased_ = std::move(erased);
    lost_ = std::move(lost);
  }

  using explainer =
      std::function<std::string(std::uint64_t object, std::chrono::milliseconds waited)>;
  using async_explainer = std::function<boost::asio::awaitable<std::string>(
      std::uint64_t object, std::chrono::milliseconds waited)>;
  /// Sets functions that return why an object's calls are unanswered, as the end of a sentence.
  /// Must be called first. `async_of` is for coroutines.
  void explain_with(explainer of, async_explainer async_of) {
    explainer_ = std::move(of);
    async_explainer_ = std::move(async_of);
  }
  std::string explanation_of(std::uint64_t object, std::chrono::milliseconds waited) const {
    return explainer_ ? explainer_(object, waited) : std::string();
  }
  boost::asio::awaitable<std::string> async_explanation_of(std::uint64_t object,
                                                           std::chrono::milliseconds waited) const;

  // Called by users.
  handle call(object_place const& to, std::string_view method, value args) override;
  std::vector<handle> call_sequentially(object_place const& to, std::string_view method,
                                        std::vector<std::string> args) override;
  void erase(object_place const& of) override;
  /// Creates an object. Waits until the server has accepted the request. Sets the request number.
  /// Throws the server's error as raise() does, and unavailable_error.
  remote_object create(v1::NewObject what);
  remote_object find(std::string const& name);

  // The stream calls the following members.
  /// Adds requests to a message. Returns false if there are no requests.
  bool fill(v1::ObjectRequests& to);
  bool has_more() const;
  void again();
  void take(v1::ObjectAnswers const& m);
  /// Resends requests that the server had no room for.
  void repeat();
  /// Called when no further answers will arrive.
  void end(std::string const& reason);

  struct asked {
    enum class step : std::uint8_t { make, call, drop };  // in the order of a message

    std::uint64_t number = 0;
    step what = step::call;
    v1::NewObject create{};  // for `make`: the object to create, or to find if the class is empty
    std::uint64_t object = 0;
    std::string method{}, args{}, ticket{}, task{};
    muster::encoding encoding = muster::encoding::json;  // `bytes` for calls of variables
    /// Requests that wait for this request.
    std::shared_ptr<std::deque<std::shared_ptr<asked>>> next{};
    std::string shown{};
    bool answered = false;
    value output{};
    std::optional<failure> error{};
    v1::ObjectFound found{};
    std::vector<std::shared_ptr<waiting>> waiters{};
    std::vector<call_name> waited_by{};  // newest waiting methods, at most waits_max

    std::size_t size() const { return args.size() + create.args().size() + method.size() + 32; }
  };
  using one = std::shared_ptr<asked>;

  /// Returns false on timeout.
  bool wait(one const& a, std::chrono::milliseconds timeout);
  bool answered(one const& a) const;
  /// Resumes the coroutine when the request has been answered.
  void enter(one const& a, std::shared_ptr<waiting> const& w);

 private:
  using lock = std::unique_lock<std::mutex>;

  remote_object ask(v1::NewObject what);
  /// The following members require the mutex.
  void throw_if_over() const;
  void add(one a);
  static failure over(std::string const& reason);
  static one made(object_place const& to, std::string_view method, value args);
  void add_call(one const& a);
  bool has_room(std::size_t bytes) const {
    return calls_ == 0 || (calls_ < calls_max && bytes_ + bytes <= bytes_max);
  }
  /// If this thread executes a method, records its wait, from which the server detects cycles.
  /// Returns false if there is nothing to send.
  bool note_wait(asked& a);
  void write(asked const& a, v1::ObjectRequests& to) const;
  void settle(asked& a, std::vector<std::shared_ptr<waiting>>& resumed);
  /// Records that the server has received all requests before this number.
  void acknowledge_before(std::uint64_t number);
  /// Wakes the stream unless it has already been woken. Releases the mutex.
  void tell(lock& held);

  std::string const ticket_;
  std::function<void()> wake_;
  explainer explainer_;
  async_explainer async_explainer_;
  std::function<void(std::chrono::milliseconds)> later_;
  std::function<void(std::uint64_t)> erased_;
  std::function<void(std::string const&, failure const&)> lost_;

  mutable std::mutex mutex_;  // protects the following members
  std::condition_variable changed_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, one>
      pending_;  // limited by calls_max, drops_max and the number of waiting threads
  std::size_t calls_ = 0;
  std::size_t bytes_ = 0;
  std::deque<std::uint64_t> drops_;  // pending deletions, at most drops_max
  std::deque<one> out_;              // pending requests that were not sent on this stream
  std::vector<one> refused_;         // requests that the server had no room for; counted as calls
  std::chrono::milliseconds pause_ = repeat_min;
  bool repeats_ = false;
  std::vector<std::uint64_t> taken_;  // acknowledgements that were not sent on this stream
  std::size_t taken_bytes_ = 0;
  struct said {
    std::uint64_t number = 0;
    std::uint64_t last = 0;  // number of the request before it; a later answer confirms it
  };
  /// Acknowledgements that the server may not have received. Limited to 2 * calls_max, because each
  /// acknowledgement precedes an unconfirmed request.
  std::deque<said> sent_acknowledgements_;
  /// Calls for which methods are waiting, each with the waiting method. These calls have not been
  /// reported on this stream.
  std::vector<std::pair<std::uint64_t, call_name>> waits_;
  bool stream_woken_ = false;  // whether the stream knows that requests are waiting
  bool ticket_sent_ = false;   // whether the ticket was sent on this stream
  std::optional<std::string> end_reason_;
};

}  // namespace muster::detail
