// getaddrinfo on a thread of its own, which may be left behind.
#include "http_client/name_lookup.hpp"

#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
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

// Shared by the one who asks and the thread that asks the system; the last one frees it.
struct errand {
  std::mutex mutex;
  std::condition_variable done;
  std::optional<lookup_answer> answer;
};

}  // namespace

lookup_answer look_up(std::string const& host, std::string const& port,
                      std::optional<std::chrono::steady_clock::time_point> limit) {
  boost::system::error_code no_number;
  boost::asio::ip::make_address(host, no_number);
  if (!no_number)
    return ask_system(host, port, tcp::resolver::numeric_host | tcp::resolver::numeric_service);
  if (!limit) return ask_system(host, port, {});
  auto const shared = std::make_shared<errand>();
  std::thread([shared, host, port] {
    auto answer = ask_system(host, port, {});
    std::lock_guard const lock(shared->mutex);
    shared->answer = std::move(answer);
    shared->done.notify_one();
  }).detach();
  std::unique_lock lock(shared->mutex);
  if (!shared->done.wait_until(lock, *limit, [&] { return shared->answer.has_value(); }))
    return {boost::asio::error::timed_out};
  return std::move(*shared->answer);
}

}  // namespace muster
