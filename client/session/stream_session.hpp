// What a muster::session is made of: a client_session of one stream, whose outcomes go to handlers
// at once. Nothing is kept of a closure but its handler, if it has one of its own.
// Its users' half is muster::session itself. Handlers are called on the engine thread, without the
// mutex.
#pragma once

#include <map>
#include <tuple>

#include "client/session/client_session.hpp"
#include "muster/session.hpp"

namespace muster {

class session::stream final : public detail::client_session {
 public:
  stream(client_engine& engine, session_options const& options, outcome_handler on_outcome);

 private:
  friend class session;  // the users' half: any thread, under the mutex

  // The link, engine thread.
  void connected() override { asked_ = false; }
  next next_message(grpc::ByteBuffer& to) override;
  std::string take(v1::SessionResponse const& m) override;
  void ended(std::string const& reason) override;

  void take_outcomes(v1::SessionResponse const& m);
  void deliver(outcome const& o);

  // REQUIRE: the mutex is held.
  void throw_if_over() const override;
  enum class when_full { wait, refuse };
  /// False: it is full, and the user does not want to wait.
  bool admit(lock& held, value_view args, when_full when);
  bool schedule(function_number f, value_view args, std::uint64_t first, std::size_t count,
                when_full when);  // takes the mutex
  void append(std::uint32_t f, value_view args, std::uint64_t token);
  std::uint32_t number_of_called(std::uint32_t function, std::string_view display_name,
                                 std::string hash);

  /// Numbers that are an index in called_.
  static constexpr std::uint32_t called_bit = std::uint32_t{1} << 31;
  static constexpr std::size_t called_max = 65'536;
  struct called {
    std::uint32_t function = 0;
    std::string name, hash;
  };

  /// Tokens of closures with a handler of their own.
  static constexpr std::uint64_t handler_bit = std::uint64_t{1} << 63;

  bool on_stream_thread() const { return engine_.context().running_in_this_thread(); }
  /// For members that wait.
  void check_may_wait() const;
  /// Ends the call unless it has ended, and waits for that.
  void abandon();

  outcome_handler const on_outcome_;
  client_engine& engine_;  // the session object keeps it alive
  failure failure_;        // engine thread: of the outcome that is delivered
  /// Of several servers one may not serve: none gets a closure before it has opened the session, so
  /// that the next one can be asked.
  bool const asks_first_;
  v1::SessionRequest open_;  // what each is asked, then
  bool asked_ = false;       // engine thread: this one was

  // The mutex protects all below. In out_ there may be, beyond its limits, what handlers add on the
  // stream thread: about one entry an outcome.
  bool ending_ = false;  // nothing is taken any more; it has ended once every handler was called
  /// By the low bits of the token; as many as there are closures with handlers in flight.
  std::vector<outcome_handler> handlers_;
  std::vector<std::uint32_t> free_handlers_;
  std::vector<called> called_;  // at most called_max
  std::map<std::tuple<std::uint32_t, std::string, std::string>, std::uint32_t> called_numbers_;
  session_stats stats_;
};

}  // namespace muster
