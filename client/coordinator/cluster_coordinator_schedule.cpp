#include <algorithm>

#include "client/coordinator/coordinator_session.hpp"

namespace muster {
namespace detail {
namespace {

constexpr std::size_t gang_size_max = 1'024;                   // the server has the same limit
constexpr std::size_t gang_bytes_max = std::size_t{48} << 20;  // a gang is sent in one message

void check_request(request const& r) {
  check_function_name(r.function);
  check_argument_bytes(r.args.size());
  if (r.options && (r.options->delay.count() < 0 || r.options->deadline.count() < 0 ||
                    r.options->retry_initial.count() < 0 || r.options->retry_max.count() < 0))
    throw std::invalid_argument("options: a time must not be negative");
  if (r.options) check_callable(r.options->display_name, r.options->callable);
}

}  // namespace

closure_record coordinator_session::converted(request const& r) const {
  check_request(r);
  closure_record added;
  for (auto const& [offset, of] : r.inputs) {
    auto& used = added.inputs.emplace_back(use{0, 0, offset});
    if (of->session() == this) {
      used.token = of->token();
      continue;
    }
    used.id = of->session()->closure_id(of->token());
    if (used.id == 0)
      throw std::invalid_argument("an argument is a value of another coordinator and is not ready");
  }
  for (auto const& of : r.per_worker) {
    use const used{of->session() == this ? of->token() : 0, of->value()};
    auto const same = [&used](use const& u) { return u.id == used.id; };
    if (std::none_of(added.per_worker.begin(), added.per_worker.end(), same))
      added.per_worker.push_back(used);
  }
  return added;
}

bool coordinator_session::has_room() const {
  return held_ == 0 && !full() && (streaming_ || unfinished_ < options_.pending_max) &&
         !queue_.is_full(streaming_, unfinished_);
}

bool coordinator_session::may_schedule() const {
  if (ended_ || closing_) return true;
  return generation_.settled() && (generation_.failed() || has_room());
}

bool coordinator_session::may_submit() const {
  return ended_ || closing_ || (!generation_.cancelling() && has_room());
}

void coordinator_session::check_put(bool own_error) {
  if (own_error)
    throw_if_over();
  else
    raise_pending();
}

std::chrono::milliseconds coordinator_session::room_limit() const {
  return options_.schedule_timeout.count() == 0 ? for_ever : options_.schedule_timeout;
}

wait_timeout coordinator_session::no_room() const {
  return wait_timeout("the queue stayed full for " + in_ms(options_.schedule_timeout));
}

// Also throws a pending error before anything is scheduled.
void coordinator_session::wait_for_room(lock& held, bool own_error) {
  auto const may = [&] { return may_put(own_error); };
  if (!changed_.wait_for(held, room_limit(), may)) throw no_room();
  check_put(own_error);
}

std::uint64_t coordinator_session::add(closure_record added, request r, std::uint64_t gang) {
  added.encoding = r.encoding;
  added.options = std::move(r.options);
  added.references = 1;
  added.generation = r.own_error && server_supports_submit_ ? 0 : generation_.number();
  for (auto const& used : added.inputs)
    if (used.token != 0) ++records_.at(used.token).references;
  for (auto const& used : added.per_worker)
    if (used.token != 0) ++per_worker_values_.at(used.token).references;
  added.args = std::move(r.args);
  added.contents = std::move(r.contents);
  added.function = number_of(r.function);
  added.gang = gang;
  auto const token = ++last_token_;
  auto const& stored = records_.emplace(token, std::move(added)).first->second;
  ++unfinished_;
  if (streaming_) append(token, stored);
  return token;
}

std::vector<closure_record> coordinator_session::converted_gang(
    std::vector<request> const& all) const {
  if (all.empty()) throw std::invalid_argument("a gang must have at least one call");
  if (all.size() > gang_size_max)
    throw std::invalid_argument("the gang has " + std::to_string(all.size()) +
                                " closures, the limit is " + std::to_string(gang_size_max));
  std::vector<closure_record> added;
  std::size_t bytes = 0;
  for (auto const& r : all) {
    added.push_back(converted(r));
    bytes += r.args.size();
  }
  if (bytes > gang_bytes_max)
    throw std::invalid_argument("the arguments of the gang have " + std::to_string(bytes) +
                                " bytes, the limit is " + std::to_string(gang_bytes_max));
  return added;
}

std::uint64_t coordinator_session::add_gang(std::vector<closure_record> added,
                                            std::vector<request>& all) {
  auto const first = last_token_ + 1;
  number_of(all.front().function);  // the name is sent in an earlier message
  out_.begin_group();
  for (std::size_t i = 0; i < all.size(); ++i) add(std::move(added[i]), std::move(all[i]), first);
  out_.end_group();
  return first;
}

std::uint64_t coordinator_session::put_builder(request r) {
  check_request(r);
  if (!r.inputs.empty() || !r.per_worker.empty())
    throw std::invalid_argument(
        "the arguments of a builder must be plain values, because it runs again when a worker "
        "reconnects");
  lock held(mutex_);
  throw_if_over();
  per_worker_record added;
  added.function = number_of(r.function);
  added.args = std::move(r.args);
  for (auto const& content : r.contents) content->named_elsewhere();
  auto const token = ++last_token_;
  auto const& stored = per_worker_values_.emplace(token, std::move(added)).first->second;
  if (streaming_) append_built(token, stored);
  wake();
  return token;
}

void coordinator_session::check_created(std::uint64_t token) const {
  auto const& b = per_worker_values_.at(token);
  if (b.error) raise(failure(*b.error));
  if (b.value == 0) throw_if_over();
}

}  // namespace detail

using handle = std::shared_ptr<detail::value_handle const>;

namespace {

std::vector<handle> handles_of(std::shared_ptr<detail::coordinator_session> const& s,
                               std::uint64_t first, std::size_t count) {
  std::vector<handle> handles;
  for (std::size_t i = 0; i < count; ++i)
    handles.push_back(std::make_shared<detail::value_handle const>(s, first + i));
  return handles;
}

}  // namespace

handle cluster_coordinator::put(detail::request r) {
  auto& s = *session_;
  auto added = s.converted(r);
  std::unique_lock held(s.mutex_);
  s.wait_for_room(held, r.own_error && s.server_supports_submit_);
  auto const token = s.add(std::move(added), std::move(r), 0);
  s.wake();
  held.unlock();
  return std::make_shared<detail::value_handle const>(session_, token);
}

boost::asio::awaitable<handle> cluster_coordinator::async_put(detail::request r) {
  auto const s = session_;
  auto added = s->converted(r);
  std::uint64_t token = 0;
  bool const submitted = r.own_error;
  auto const can_continue = [s, submitted] {
    return s->may_put(submitted && s->server_supports_submit_);
  };
  auto const go_on = [&] {
    s->check_put(submitted && s->server_supports_submit_);
    token = s->add(std::move(added), std::move(r), 0);
    s->wake();
  };
  auto putting = s->async_when(can_continue, s->room_limit(), go_on);
  bool const put = co_await std::move(putting);
  if (!put) throw s->no_room();
  co_return std::make_shared<detail::value_handle const>(s, token);
}

std::vector<handle> cluster_coordinator::put_gang(std::vector<detail::request> all) {
  auto& s = *session_;
  auto added = s.converted_gang(all);
  std::unique_lock held(s.mutex_);
  s.wait_for_room(held, all.front().own_error && s.server_supports_submit_);
  auto const first = s.add_gang(std::move(added), all);
  s.wake();
  held.unlock();
  return handles_of(session_, first, all.size());
}

boost::asio::awaitable<std::vector<handle>> cluster_coordinator::async_put_gang(
    std::vector<detail::request> all) {
  auto const s = session_;
  auto added = s->converted_gang(all);
  std::uint64_t first = 0;
  bool const submitted = all.front().own_error;
  auto const can_continue = [s, submitted] {
    return s->may_put(submitted && s->server_supports_submit_);
  };
  auto const go_on = [&] {
    s->check_put(submitted && s->server_supports_submit_);
    first = s->add_gang(std::move(added), all);
    s->wake();
  };
  auto putting = s->async_when(can_continue, s->room_limit(), go_on);
  bool const put = co_await std::move(putting);
  if (!put) throw s->no_room();
  co_return handles_of(s, first, all.size());
}

per_worker_value cluster_coordinator::create(detail::request r) {
  auto& s = *session_;
  auto const token = s.put_builder(std::move(r));
  auto const made = std::make_shared<detail::per_worker_handle const>(session_, token);
  std::unique_lock held(s.mutex_);
  // No deadline is needed, because connect_timeout or the grace period ends the wait.
  s.changed_.wait(held, [&] { return s.answered(token); });
  s.check_created(token);
  return per_worker_value(made);
}

boost::asio::awaitable<per_worker_value> cluster_coordinator::async_create(detail::request r) {
  auto const s = session_;
  auto const token = s->put_builder(std::move(r));
  auto const made = std::make_shared<detail::per_worker_handle const>(s, token);
  auto const answered = [s, token] { return s->answered(token); };
  auto const check = [s, token] { s->check_created(token); };
  co_await s->async_when(answered, detail::for_ever, check);
  co_return per_worker_value(made);
}

}  // namespace muster
