// Scheduling: what a user asks for becomes a record and, while there is a stream, part of a
// message.
#include "client/coordinator/coordinator_checks.hpp"
#include "client/coordinator/coordinator_session.hpp"

namespace muster::detail {
namespace {

constexpr std::size_t gang_size_max = 1'024;                   // the server's, too
constexpr std::size_t gang_bytes_max = std::size_t{48} << 20;  // they go in one message

}  // namespace

coordinator_session::record coordinator_session::converted(request const& r) const {
  check_request(r);
  record added;
  add_inputs(added, r.inputs);
  add_per_worker(added, r);
  return added;
}

// Also raises what there is to be raised before anything is scheduled.
void coordinator_session::wait_for_room(lock& held) {
  auto const may_go_on = [this] { return may_schedule(); };
  if (options_.schedule_timeout.count() == 0)
    changed_.wait(held,
                  may_go_on);  // no deadline: back-pressure, ends with the session at the latest
  else if (!changed_.wait_for(held, options_.schedule_timeout, may_go_on))
    throw wait_timeout("the queue had no room within " + in_ms(options_.schedule_timeout));
  throw_pending_error();
  throw_if_lost();
}

std::uint64_t coordinator_session::add(record added, request r, std::uint64_t gang) {
  added.encoding = r.encoding;
  added.options = std::move(r.options);
  added.references = 1;
  added.generation = generation_;
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
  for (;;) {
    {
      lock held(mutex_);
      if (may_schedule()) {
        throw_pending_error();
        throw_if_lost();
        auto const token = add(std::move(added), std::move(r), 0);
        wake();
        co_return token;
      }
    }
    auto const left = std::chrono::ceil<milliseconds>(end - clock::now());
    if (left.count() <= 0)
      throw wait_timeout("the queue had no room within " + in_ms(options_.schedule_timeout));
    auto enter = [self](std::shared_ptr<waiting> const& w) {
      lock held(self->mutex_);
      if (!self->may_schedule()) return self->session_waiting_.push_back(w);
      held.unlock();
      w->resume(true);
    };
    bool const happened = co_await waiting::wait(left, enter);
    if (!happened) co_await throw_if_cancelled();
  }
}

std::uint64_t coordinator_session::put_gang(std::vector<request> all) {
  std::vector<record> added;
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

void coordinator_session::add_inputs(record& r, std::vector<input> const& inputs) const {
  for (auto const& [offset, of] : inputs) {
    if (of->session() == this) {
      r.inputs.emplace_back(offset, of->token());
      continue;
    }
    auto const id = of->status() == value_status::not_ready ? std::string() : of->id();
    if (id.empty())
      throw std::invalid_argument("an argument is a value of another coordinator and not ready");
    r.foreign.emplace_back(offset, std::stoull(id.substr(3), nullptr, 16));
  }
}

std::uint32_t coordinator_session::number_of(std::string const& function) {
  auto const [it, added] =
      functions_.try_emplace(function, static_cast<std::uint32_t>(functions_.size()));
  if (added) {
    names_.push_back(function);
    if (streaming_) out_.tail().add_function_name(function);
  }
  return it->second;
}

}  // namespace muster::detail
