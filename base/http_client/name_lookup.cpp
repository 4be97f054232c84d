#include "base/http_client/name_lookup.hpp"

#include <boost/asio/io_context.hpp>
#include <future>
#include <thread>

namespace muster {

namespace {

using tcp = boost::asio::ip::tcp;

lookup_answer ask_system(std::string const& host, std::string const& port,
                         tcp::resolver::flags flags) {
  boost::asio::io_context context(1);
  tcp::resolver resolver(context);
  lookup_answer answer;
  auto const found = resolver.resolve(host, port, flags, answer.error);
  for (auto const& entry : found) answer.endpoints.push_back(entry.endpoint());
  return answer;
}

}  // namespace

lookup_answer look_up(std::string const& host, std::string const& port,
                      std::optional<std::chrono::steady_clock::time_point> limit) {
  boost::system::error_code no_number;
  boost::asio::ip::make_address(host, no_number);
  if (!no_number)
    return ask_system(host, port, tcp::resolver::numeric_host | tcp::resolver::numeric_service);
  if (!limit) return ask_system(host, port, {});
  std::promise<lookup_answer> promise;
  auto answer = promise.get_future();
  std::thread([host, port, p = std::move(promise)]() mutable {
    p.set_value(ask_system(host, port, {}));
  }).detach();
  if (answer.wait_until(*limit) != std::future_status::ready)
    return {boost::asio::error::timed_out};
  return answer.get();
}

}  // namespace muster
