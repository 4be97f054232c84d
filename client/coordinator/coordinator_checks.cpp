#include "client/coordinator/coordinator_checks.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>
#include <stdexcept>

#include "base/utf8.hpp"

namespace muster::detail {
namespace {

constexpr std::size_t args_bytes_max = std::size_t{48} << 20;

}  // namespace

void check_request(request const& r) {
  if (r.function.empty() || r.function.size() > 256 || !is_utf8(r.function))
    throw std::invalid_argument("a function's name has 1 to 256 bytes of UTF-8");
  if (r.args.size() > args_bytes_max)
    throw std::invalid_argument("arguments of " + std::to_string(r.args.size()) +
                                " bytes, the limit is " + std::to_string(args_bytes_max));
  if (r.options && (r.options->delay.count() < 0 || r.options->deadline.count() < 0 ||
                    r.options->retry_initial.count() < 0 || r.options->retry_max.count() < 0))
    throw std::invalid_argument("options: a time is negative");
}

std::string in_ms(std::chrono::milliseconds t) {
  return std::to_string(t.count()) + " ms";
}

boost::asio::awaitable<void> throw_if_cancelled() {
  auto const state = co_await boost::asio::this_coro::cancellation_state;
  if (state.cancelled() != boost::asio::cancellation_type::none)
    throw boost::system::system_error(boost::asio::error::operation_aborted);
}

}  // namespace muster::detail
