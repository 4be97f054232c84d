// The users' half: what is asked for becomes a record and, while there is a stream, part of a
// message.
#include <algorithm>

#include "client/coordinator/coordinator_session.hpp"
#include "muster/per_worker_value.hpp"

namespace muster::detail {
namespace {

constexpr std::size_t gang_size_max = 1'024;                   // the server's, too
constexpr std::size_t gang_bytes_max = std::size_t{48} << 20;  // they go in one message

void check_request(request const& r) {
  check_function_name(r.function);
  check_argument_bytes(r.args.size());
  if (r.options && (r.options->delay.count() < 0 || r.options->deadline.count() < 0 ||
                    r.options->retry_initial.count() < 0 || r.options->retry_max.count() < 0))
    throw std::invalid_argument("options: a time is negative");
  if (r.options) check_callable(r.options->display_name, r.options->callable);
}

}  // namespace

closure_record coordinator_session::converted(request const& r) const {
  check_request(r);
  closure_record added;
  for (auto const& [offset, of] : r.inputs) {
    if (of->session() == this) {
      added.inputs.emplace_back(offset, of->token());
      continue;
    }
    auto const closure = of->session()->closure_id(of->token());
    if (closure == 0)
      throw std::invalid_argument("an argument is a value of another coordinator and not ready");
    added.foreign.emplace_back(offset, closure);
  }
  for (auto const& used : r.per_worker) {
    built_use use{used->session() == this ? used->token() : 0, used->value()};
    auto const same = [&use](built_use const& u) { return u.value == use.value; };
    if (std::none_of(added.per_worker.begin(), added.per_worker.end(), same))
      added.per_worker.push_back(use);
  }
  return added;
}

bool coordinator_session::may_schedule() const {
  if (ended_ || closing_) return true;
  bool const no_room = full() || (!streaming_ && unfinished_ >= options_.pending_max);
  return generation_.settled() && (generation_.failed() || !no_room);
}

// Also raises what there is to be raised before anything is scheduled.
void coordinator_session::wait_for_room(lock& held) {
  auto const may_go_on = [this] { return may_schedule(); };
  if (options_.schedule_timeout.count() == 0)
    // No deadline: back-pressure, ends with the session at the latest.
    changed_.wait(held, may_go_on);
  else if (!changed_.wait_for(held, options_.schedule_timeout, may_go_on))
    throw wait_timeout("the queue had no room within " + in_ms(options_.schedule_timeout));
  raise_pending();
}

std::uint64_t coordinator_session::add(closure_record added, request r, std::uint64_t gang) {
  added.encoding = r.encoding;
  added.options = std::move(r.options);
  added.references = 1;
  added.generation = generation_.number();
  for (auto const& [offset, token] : added.inputs) ++records_.at(token).references;
  for (auto const& use : added.per_worker)
    if (use.token != 0) ++built_.at(use.token).references;
  added.args = std::move(r.args);
  added.function = number_of(r.function);
  added.gang = gang;
  auto const token = ++last_token_;
  auto const& stored = records_.emplace(token, std::move(added)).first->second;
  ++unfinished_;
  if (streaming_) append(token, stored);
  return token;
}

std::uint64_t coordinator_session::put(request r) {
  auto added = converted(r);
  lock held(mutex_);
  wait_for_room(held);
  auto const token = add(std::move(added), std::move(r), 0);
  wake();
  return token;
}

boost::asio::awaitable<std::uint64_t> coordinator_session::async_put(request r) {
  auto const self = shared_from_this();
  auto added = converted(r);
  auto const limit = options_.schedule_timeout.count() == 0 ? for_ever : options_.schedule_timeout;
  auto const end = clock::now() + limit;
  auto const may_go_on = [this] { return may_schedule(); };
  for (;;) {
    {
      lock held(mutex_);
      if (may_schedule()) {
        raise_pending();
        auto const token = add(std::move(added), std::move(r), 0);
        wake();
        co_return token;
      }
    }
    if (clock::now() >= end)
      throw wait_timeout("the queue had no room within " + in_ms(options_.schedule_timeout));
    co_await async_until(may_go_on, end);
  }
}

std::uint64_t coordinator_session::put_gang(std::vector<request> all) {
  std::vector<closure_record> added;
  std::size_t bytes = 0;
  for (auto const& r : all) {
    added.push_back(converted(r));
    bytes += r.args.size();
  }
  if (all.size() > gang_size_max)
    throw std::invalid_argument("a gang of " + std::to_string(all.size()) +
                                " closures, the limit is " + std::to_string(gang_size_max));
  if (bytes > gang_bytes_max)
    throw std::invalid_argument("a gang with arguments of " + std::to_string(bytes) +
                                " bytes, the limit is " + std::to_string(gang_bytes_max));
  lock held(mutex_);
  wait_for_room(held);
  auto const first = last_token_ + 1;
  number_of(all.front().function);  // its name goes into a message of its own
  out_.begin_group();
  for (std::size_t i = 0; i < all.size(); ++i) add(std::move(added[i]), std::move(all[i]), first);
  out_.end_group();
  wake();
  return first;
}

std::uint64_t coordinator_session::create(request r) {
  check_request(r);
  if (!r.inputs.empty() || !r.per_worker.empty())
    throw std::invalid_argument(
        "the arguments of a builder are plain: it runs again when a worker comes back");
  lock held(mutex_);
  throw_if_over();
  built_record added;
  added.function = number_of(r.function);
  added.args = std::move(r.args);
  auto const token = ++last_token_;
  auto const& stored = built_.emplace(token, std::move(added)).first->second;
  if (streaming_) append_built(token, stored);
  wake();
  return token;
}

bool coordinator_session::created(std::uint64_t token) const {
  auto const& b = built_.at(token);
  if (b.error) raise(failure(*b.error));
  if (b.value == 0) throw_if_over();
  return b.value != 0;
}

void coordinator_session::wait_created(std::uint64_t token) {
  lock held(mutex_);
  auto const& b = built_.at(token);
  changed_.wait(held, [&] { return ended_ || closing_ || b.answered(); });
  created(token);
}

boost::asio::awaitable<void> coordinator_session::async_wait_created(std::uint64_t token) {
  auto const self = shared_from_this();
  auto const over = [this, token] { return ended_ || closing_ || built_.at(token).answered(); };
  for (;;) {
    {
      lock held(mutex_);
      if (created(token)) co_return;
    }
    co_await async_until(over, clock::now() + for_ever);
  }
}

}  // namespace muster::detail
