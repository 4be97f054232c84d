#include "launch/ranks/report_line.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>
#include <utility>

#include "base/utf8.hpp"

namespace muster::launch {

namespace asio = boost::asio;
namespace json = boost::json;

report_line::report_line(asio::io_context& io, file_descriptor to) : to_(io, to.release()) {}

void report_line::started(std::uint32_t rank, pid_t pid, std::string const& not_preloaded) {
  json::object what{{"rank", rank}, {"pid", pid}, {"not_preloaded", to_utf8(not_preloaded)}};
  add(json::serialize(json::object{{"started", std::move(what)}}));
}

void report_line::ended(rank_end const& e) {
  auto const texts = [](std::vector<std::string> const& lines) {
    json::array all;
    for (auto const& line : lines) all.emplace_back(to_utf8(line));
    return all;
  };
  json::object what{{"rank", e.rank},
                    {"exit_status", e.exit_status},
                    {"signal", e.signal},
                    {"not_started", to_utf8(e.not_started)},
                    {"stopped", e.stopped},
                    {"lease_ran_out", e.lease_ran_out},
                    {"stderr", texts(e.last_errors)},
                    {"stdout", texts(e.last_output)},
                    {"out_of_memory", e.out_of_memory}};
  add(json::serialize(json::object{{"ended", std::move(what)}}));
}

void report_line::finish(std::function<void()> done) {
  done_ = std::move(done);
  if (writing_.empty()) asio::post(to_.get_executor(), std::exchange(done_, {}));
}

void report_line::add(std::string const& line) {
  if (broken_) return;
  waiting_ += line + "\n";
  if (writing_.empty()) write();
}

void report_line::write() {
  writing_ = std::exchange(waiting_, {});
  asio::async_write(to_, asio::buffer(writing_),
                    [this](boost::system::error_code error, std::size_t) {
                      broken_ = broken_ || error;
                      writing_.clear();
                      if (!broken_ && !waiting_.empty()) return write();
                      if (done_) std::exchange(done_, {})();
                    });
}

}  // namespace muster::launch
