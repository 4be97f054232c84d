#include "client/variables/joined_value.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace muster::detail {
namespace {

using handle = std::shared_ptr<value_handle const>;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

milliseconds until(clock::time_point end) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(end - clock::now()));
}

class joined_handle final : public value_handle {
 public:
  joined_handle(std::vector<handle> parts, std::function<value(std::vector<value>)> join)
      : parts_(std::move(parts)), join_(std::move(join)) {}

  value_status status() const override {
    auto worst = value_status::ready;
    for (auto const& p : parts_) {
      auto const one = p->status();
      if (one == value_status::not_ready) return one;
      if (one == value_status::aborted) worst = one;
    }
    return worst;
  }
  value get(milliseconds timeout) const override {
    auto const end = clock::now() + timeout;
    std::vector<value> all;
    for (auto const& p : parts_) all.push_back(p->get(until(end)));
    return join_(std::move(all));
  }
  boost::asio::awaitable<void> async_wait(milliseconds timeout) const override {
    auto const end = clock::now() + timeout;
    for (std::size_t i = 0; i < parts_.size(); ++i) co_await parts_[i]->async_wait(until(end));
  }
  std::string id() const override { return {}; }
  std::string function() const override {
    return parts_.empty() ? std::string("muster.Variable") : parts_.front()->function();
  }
  void cancel() const override {}
  std::optional<std::string> text() const override {
    auto v = get(for_ever);
    if (v.encoding != encoding::json)
      throw std::invalid_argument(
          "a variable's array cannot be passed as an argument; read the variable where it is used");
    return std::move(v.bytes);
  }

 private:
  std::vector<handle> const parts_;
  std::function<value(std::vector<value>)> const join_;
};

}  // namespace

handle joined(std::vector<handle> parts, std::function<value(std::vector<value>)> join) {
  return std::make_shared<joined_handle const>(std::move(parts), std::move(join));
}

handle all_of(std::vector<handle> parts) {
  if (parts.size() == 1) return parts.front();
  return joined(std::move(parts), [](std::vector<value>) { return value{"null", {}}; });
}

}  // namespace muster::detail
