// Requests for the same name are answered in order.
#include "client/blobs/taking.hpp"

#include <boost/asio/post.hpp>
#include <vector>

namespace muster::detail {
namespace {

using boost::asio::posix::stream_descriptor;

}  // namespace

bool memory_client::take(std::string const& from, std::string const& name, std::uint64_t size,
                         bool keep, got then, std::string& why) {
  auto const q = std::make_shared<question>();
  q->size = size;
  q->keep = keep;
  q->then = std::move(then);
  std::shared_ptr<holder> to;
  {
    std::lock_guard held(mutex_);
    to = connected(from, why);
    if (!to) return false;
    if (!send_packet(to->socket.native_handle(), keep ? 'G' : 'O', name)) {
      why = "the process that stores the value has closed the connection";
      avoid(from);
      return false;
    }
    to->asked[name].push_back(q);
  }
  auto answer = q->answer.get_future();
  if (answer.wait_for(answer_within) != std::future_status::ready) {
    why = "the process that stores the value does not answer";
    std::lock_guard held(mutex_);
    avoid(from);
    // Threads that ask later do not wait for this holder.
    boost::asio::post(loop_, [this, to] { end(to); });
    return false;
  }
  bool const taken = answer.get();
  why = q->why;
  return taken;
}

std::shared_ptr<memory_client::holder> memory_client::connected(std::string const& name,
                                                                std::string& why) {
  auto const it = holders_.find(name);
  if (it != holders_.end() && !it->second->gone) return it->second;
  auto const avoided = avoided_.find(name);
  why =
      "the process that stores the value is not contacted, because this failed recently or the "
      "connection limit is reached";
  if (closed_ || holders_.size() >= holders_max ||
      (avoided != avoided_.end() && avoided->second > clock::now()))
    return {};
  auto socket = connect_to(name, why);
  if (!socket) {
    avoid(name);
    return {};
  }
  auto const made = std::make_shared<holder>(loop_, name, std::move(socket));
  holders_[name] = made;
  boost::asio::post(loop_, [this, made] { listen_to(made); });
  return made;
}

void memory_client::avoid(std::string const& name) {
  if (avoided_.size() >= avoided_max) avoided_.clear();
  avoided_[name] = clock::now() + avoided_for;
}

void memory_client::listen_to(std::shared_ptr<holder> const& h) {
  h->socket.async_wait(stream_descriptor::wait_read, [this, h](boost::system::error_code failed) {
    if (failed) return;
    if (hear(*h))
      listen_to(h);
    else
      end(h);
  });
}

// Returns false if the holder has closed the connection.
bool memory_client::hear(holder& h) {
  unix_packet said;
  switch (read_packet(h.socket.native_handle(), said)) {
    case packet_read::nothing_yet:
      return true;
    case packet_read::hung_up:
      return false;
    case packet_read::got:
      break;
  }
  if (said.said == 'D') {
    if (h.taken.erase(said.name) > 0) on_dropped_(said.name);
    return true;
  }
  std::shared_ptr<question> q;
  {
    std::lock_guard held(mutex_);
    auto const it = h.asked.find(said.name);
    if (it == h.asked.end()) return true;
    q = std::move(it->second.front());
    it->second.pop_front();
    if (it->second.empty()) h.asked.erase(it);
  }
  answer(h, *q, said);
  return true;
}

void memory_client::answer(holder& h, question& q, unix_packet& said) {
  if (said.said != 'A' || !said.fd)
    q.why = "the process no longer stores the value";
  else if (q.why = wrong_memory(said.fd.get(), said.name, q.size); q.why.empty()) {
    try {
      q.then(std::move(said.fd));
      if (q.keep) h.taken.insert(said.name);
    } catch (std::exception const& e) {
      q.why = e.what();
    }
  }
  q.answer.set_value(q.why.empty());
}

void memory_client::end(std::shared_ptr<holder> const& h) {
  std::map<std::string, std::deque<std::shared_ptr<question>>> asked;
  {
    std::lock_guard held(mutex_);
    if (auto const it = holders_.find(h->name); it != holders_.end() && it->second == h)
      holders_.erase(it);
    h->gone = true;
    asked.swap(h->asked);
  }
  boost::system::error_code ignored;
  h->mark.reset();
  h->socket.close(ignored);
  for (auto const& name : std::exchange(h->taken, {})) on_dropped_(name);
  for (auto const& [name, questions] : asked)
    for (auto const& q : questions) {
      q->why = "the process that stores the value has closed the connection";
      q->answer.set_value(false);
    }
}

void memory_client::close() {
  std::vector<std::shared_ptr<holder>> all;
  {
    std::lock_guard held(mutex_);
    closed_ = true;
    for (auto const& [name, h] : holders_) all.push_back(h);
  }
  for (auto const& h : all) end(h);
}

}  // namespace muster::detail
