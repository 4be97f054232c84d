// What one caller asks of objects on tasks: makes, finds, calls and deletes them. It numbers what
// it asks over its whole life, so that what a broken stream has lost is asked again and done once.
//
//   asked ──fill──► sent ──take──► answered, and `taken` by the server
//                    └── the stream broke: `again`, all that is not answered, in order
//
// A coordinator's session has one, and a worker for its functions and methods. Any thread; owned by
// those and by handles and values.
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

#include "client/objects/here.hpp"
#include "client/session/waiting.hpp"
#include "muster/remote_object.hpp"
#include "muster/v1/objects.pb.h"

namespace muster::detail {

class object_calls final : public object_caller, public std::enable_shared_from_this<object_calls> {
 public:
  /// Calls that are not answered, and bytes of their arguments. More: who calls waits.
  static constexpr std::size_t calls_max = 8192;
  static constexpr std::size_t bytes_max = std::size_t{64} << 20;
  /// Objects that were deleted, of which the server may not know.
  static constexpr std::size_t drops_max = 10'000;
  /// Methods that wait for one call, of which the server is told.
  static constexpr std::size_t waits_max = 64;
  /// Answers that the server may keep for no reason, and bytes of them.
  static constexpr std::size_t taken_max = 256;
  static constexpr std::size_t taken_bytes_max = std::size_t{64} << 10;
  static constexpr std::size_t per_message_max = 1000;
  static constexpr std::size_t bytes_per_message_max = std::size_t{256} << 10;
  /// Of call_in_turn, under way.
  static constexpr std::size_t in_turn_max = 8;
  /// Between attempts at what the server has no room for; twice as long each time.
  static constexpr std::chrono::milliseconds repeat_min{50}, repeat_max{2000};

  /// `ticket`: of a session; empty for a worker, which says that of the handle with each call.
  explicit object_calls(std::string ticket) : ticket_(std::move(ticket)) {}

  /// Before all else. `wake` is called when there is something to send, by any thread, under no
  /// lock of this; `later` by the one that takes answers: repeat() is to be called after this time;
  /// `erased` of each object that is; `lost`, with the task, when an object is found to be lost
  /// with a server that has begun anew.
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
  /// Before all else: `of` returns why calls of an object have no answer, for the end of a
  /// sentence. `async_of` does the same for coroutines.
  void explain_with(explainer of, async_explainer async_of) {
    explainer_ = std::move(of);
    async_explainer_ = std::move(async_of);
  }
  std::string explanation_of(std::uint64_t object, std::chrono::milliseconds waited) const {
    return explainer_ ? explainer_(object, waited) : std::string();
  }
  boost::asio::awaitable<std::string> async_explanation_of(std::uint64_t object,
                                                           std::chrono::milliseconds waited) const;

  // Users.
  handle call(object_place const& to, std::string_view method, value args) override;
  std::vector<handle> call_in_turn(object_place const& to, std::string_view method,
                                   std::vector<std::string> args) override;
  void erase(object_place const& of) override;
  /// Waits until the server has taken it; the number is set here. Errors: as raise() of what the
  /// server refuses it with; unavailable_error.
  remote_object create(v1::NewObject what);
  remote_object find(std::string const& name);

  // The stream.
  /// What there is to say, as much as a message takes. False: nothing.
  bool fill(v1::ObjectRequests& to);
  bool has_more() const;
  /// Another stream begins.
  void again();
  void take(v1::ObjectAnswers const& m);
  /// Asks again what the server had no room for.
  void repeat();
  /// No answer will come any more.
  void end(std::string const& reason);

  /// One thing that is asked, and its answer. Those who wait for it keep it.
  struct asked {
    enum class step : std::uint8_t { make, call, drop };  // in the order of a message

    std::uint64_t number = 0;
    step what = step::call;
    v1::NewObject create{};  // make; with a class, or else it looks for the name
    std::uint64_t object = 0;
    std::string method{}, args{}, ticket{}, task{};
    muster::encoding encoding = muster::encoding::json;          // bytes: of a variable
    std::shared_ptr<std::deque<std::shared_ptr<asked>>> next{};  // that wait for their turn
    std::string shown{};                                         // "Counter.add"
    bool answered = false;
    value output{};
    std::optional<failure> error{};
    v1::ObjectFound found{};
    std::vector<std::shared_ptr<waiting>> waiters{};
    std::vector<call_name> waited_by{};  // the newest methods that wait for it, at most waits_max

    std::size_t size() const { return args.size() + create.args().size() + method.size() + 32; }
  };
  using one = std::shared_ptr<asked>;

  /// Waits for the answer. False: not within `timeout`.
  bool wait(one const& a, std::chrono::milliseconds timeout);
  bool answered(one const& a) const;
  /// Resumes it when there is an answer, perhaps at once.
  void enter(one const& a, std::shared_ptr<waiting> const& w);

 private:
  using lock = std::unique_lock<std::mutex>;

  remote_object ask(v1::NewObject what);
  /// All below REQUIRE the mutex.
  void throw_if_over() const;
  void add(one a);
  static failure over(std::string const& reason);
  static one made(object_place const& to, std::string_view method, value args);
  void add_call(one const& a);
  bool has_room(std::size_t bytes) const {
    return calls_ == 0 || (calls_ < calls_max && bytes_ + bytes <= bytes_max);
  }
  /// If this thread executes a method, the server is told that it waits: that may be a circle.
  /// False: there is nothing to tell.
  bool note_wait(asked& a);
  void write(asked const& a, v1::ObjectRequests& to) const;
  void settle(asked& a, std::vector<std::shared_ptr<waiting>>& resumed);
  /// Whatever was asked before this number has come to the server.
  void heard_before(std::uint64_t number);
  /// Wakes the stream, once until it has looked; releases the mutex.
  void tell(lock& held);

  std::string const ticket_;
  std::function<void()> wake_;
  explainer explainer_;
  async_explainer async_explainer_;
  std::function<void(std::chrono::milliseconds)> later_;
  std::function<void(std::uint64_t)> erased_;
  std::function<void(std::string const&, failure const&)> lost_;

  mutable std::mutex mutex_;  // protects all below
  std::condition_variable changed_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, one> pending_;  // not answered; at most calls_max, drops_max, and askers
  std::size_t calls_ = 0;                 // of them
  std::size_t bytes_ = 0;                 // of arguments of calls
  std::deque<std::uint64_t> drops_;       // of them, at most drops_max
  std::deque<one> out_;                   // pending and not sent on this stream
  std::vector<one> refused_;              // for want of room at the server; counted as calls
  std::chrono::milliseconds pause_ = repeat_min;
  bool repeats_ = false;              // later
  std::vector<std::uint64_t> taken_;  // not said on this stream
  std::size_t taken_bytes_ = 0;
  struct said {
    std::uint64_t number = 0;
    std::uint64_t last =
        0;  // asked before it was said: the answer to a later one says it was heard
  };
  /// Taken, and not known to be heard: at most what was asked before the first was said, so 2 *
  /// calls_max.
  std::deque<said> said_;
  /// Calls that methods wait for, each with the one that waits, to be said on this stream.
  std::vector<std::pair<std::uint64_t, call_name>> waits_;
  bool told_ = false;         // the stream knows that there is something
  bool told_ticket_ = false;  // on this stream
  std::optional<std::string> over_;
};

}  // namespace muster::detail
