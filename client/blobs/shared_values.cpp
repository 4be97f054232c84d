#include "client/blobs/shared_values.hpp"

#include <atomic>
#include <boost/asio/post.hpp>

#include "base/check.hpp"
#include "client/link/server_list.hpp"
#include "client/log_line.hpp"

namespace muster::detail {

// A value's bytes, owned by blobs and calls. The destructor reports that this process no longer
// needs the value.
class shared_values::held_content final : public blob_content {
 public:
  held_content(std::weak_ptr<shared_values> of, std::string name, memory bytes)
      : of_(std::move(of)), name_(std::move(name)), bytes_(std::move(bytes)) {}
  ~held_content() override {
    if (auto const of = of_.lock()) of->content_released(name_, by_closure_, elsewhere_);
  }

  std::string_view bytes() const override { return bytes_->bytes(); }
  void named_by_closure() const override { by_closure_ = true; }
  void named_elsewhere() const override { elsewhere_ = true; }
  void named_by_output() const override {
    if (auto const of = of_.lock()) of->output_names(name_);
  }

 private:
  std::weak_ptr<shared_values> const of_;
  std::string const name_;
  memory const bytes_;
  mutable std::atomic<bool> by_closure_ = false, elsewhere_ = false;
};

shared_values::shared_values(blobs_options const& o, std::size_t bytes_max, callbacks on)
    : options_(o),
      on_(std::move(on)),
      engine_(client_engine::shared()),
      work_(loop_.get_executor()),
      giver_(loop_, bytes_max),
      taker_(loop_, on_.on_dropped),
      thread_([this] { loop_.run(); }) {}

shared_values::~shared_values() {
  check(!thread_.joinable(), "shared values must be closed before they are destroyed");
}

void shared_values::close() {
  std::shared_ptr<content_reporter> all[2];
  {
    std::lock_guard held(mutex_);
    closed_ = true;
    all[0] = arguments_;
    all[1] = outputs_;
  }
  for (auto const& h : all)
    if (h) h->close();
  for (auto const& h : all)
    if (h) h->wait_ended();
  peers_.reset();
  boost::asio::post(loop_, [this] {
    giver_.close();
    taker_.close();
    work_.reset();
  });
  thread_.join();
  {
    std::lock_guard held(mutex_);
    entries_.clear();
    arguments_.reset();
    outputs_.reset();
  }
  for (auto& h : all) h.reset();  // destroys the streams before the engine on which they run
  engine_.reset();
}

std::shared_ptr<content_reporter> shared_values::make_holding(std::string const& task) {
  std::weak_ptr<shared_values> const weak = weak_from_this();
  auto const outputs = !task.empty();
  auto held = [weak, outputs] {
    auto const self = weak.lock();
    return self ? self->held_by(outputs) : std::vector<content_reporter::named>();
  };
  auto unneeded = [weak](std::string const& name) {
    if (auto const self = weak.lock()) self->unneeded(name);
  };
  auto unlisted = [weak](std::string const& name) {
    if (auto const self = weak.lock()) self->unlisted(name);
  };
  auto made = std::make_shared<content_reporter>(
      engine_, options_, giver_.socket_name(), task, outputs ? peers_.get() : nullptr,
      content_reporter::callbacks{std::move(held), on_.on_upload_requested, std::move(unneeded),
                                  std::move(unlisted)});
  made->start();
  return made;
}

void shared_values::listen() {
  auto const& at = options_.transfer_listen;
  if (at == "off") return;
  auto held = [this](std::string const& name) { return giver_.opened(name); };
  try {
    auto const server = chosen_server(options_.server);
    auto const where = listen_address(at, server);
    auto told = options_.transfer_advertise;
    if (told.empty() && where.is_any()) told = listen_address("", server).host;
    peers_ = std::make_unique<peer_value_server>(std::move(held), where, told);
  } catch (std::exception const& e) {
    log(log_level::error,
        "transfer_listen: " + (at.empty() ? "the interface towards the server" : at) +
            ": cannot listen, so other hosts fetch the values of this host from the server: " +
            e.what());
  }
}

std::shared_ptr<content_reporter> shared_values::reporter_for(std::string const& task) {
  if (!task.empty()) std::call_once(listens_, [this] { listen(); });
  std::lock_guard held(mutex_);
  auto& which = task.empty() ? arguments_ : outputs_;
  if (!which) which = make_holding(task);
  return which;
}

std::vector<content_reporter::named> shared_values::held_by(bool outputs) {
  std::lock_guard held(mutex_);
  std::vector<content_reporter::named> all;
  for (auto const& [name, e] : entries_)
    if (e.output == outputs) all.push_back({name, e.bytes->bytes().size(), e.copy});
  return all;
}

shared_values::held shared_values::hold(std::string_view bytes, std::string const& task) {
  bool const is_output = !task.empty();
  auto const via = reporter_for(task);
  if (!via->ready(first_answer_timeout) || (is_output && !via->outputs_stay()) ||
      !via->may_hold(bytes.size()))
    return {};
  if (!is_output)
    if (auto found = same(bytes); found.content) return found;
  if (!reserve(bytes.size())) return {};
  auto const name = random_name();
  file_descriptor fd;
  memory made;
  try {
    fd = make_memory(name, bytes);
    made = std::make_shared<mapping const>(fd.get());
  } catch (std::system_error const& e) {
    giver_.unreserve(bytes.size());
    log(log_level::debug,
        std::string("no shared memory, so the value is sent to the server: ") + e.what());
    return {};
  }
  auto content = std::make_shared<held_content const>(weak_from_this(), name, made);
  giver_.add(name, std::move(fd), bytes.size());
  std::lock_guard held(mutex_);
  auto& e = entries_[name];
  e.bytes = std::move(made);
  e.via = via;
  e.output = is_output;
  e.content = content;
  via->announce({name, bytes.size()});
  return {name, std::move(content)};
}

// Returns an equal argument that this process already holds. Comparing is faster than copying.
shared_values::held shared_values::same(std::string_view bytes) {
  std::vector<std::pair<std::string, memory>> alike;
  {
    std::lock_guard held(mutex_);
    for (auto const& [name, e] : entries_)
      if (!e.output && !e.is_put && e.bytes->bytes().size() == bytes.size())
        alike.emplace_back(name, e.bytes);
  }
  std::erase_if(alike, [&](auto const& a) { return a.second->bytes() != bytes; });
  std::lock_guard held(mutex_);
  for (auto const& [name, memory] : alike) {
    auto const it = entries_.find(name);
    if (it == entries_.end() || it->second.is_put) continue;
    if (auto there = it->second.content.lock()) return {name, std::move(there)};
    auto made = std::make_shared<held_content const>(weak_from_this(), name, memory);
    it->second.content = made;
    it->second.last_use = {};
    return {name, std::move(made)};
  }
  return {};
}

// If room is needed, drops values that were kept for possible later calls.
bool shared_values::reserve(std::size_t size) {
  if (giver_.reserve(size)) return true;
  tick(clock::time_point::max());
  std::size_t copies = 0;
  {
    std::lock_guard held(mutex_);
    for (auto const& [name, e] : entries_)
      if (e.copy) copies += e.bytes->bytes().size();
  }
  if (!giver_.has_room(size, copies)) return false;  // drop copies only if that makes enough room
  while (!giver_.reserve(size))
    if (!drop_oldest_copy()) return false;
  return true;
}

bool shared_values::drop_oldest_copy() {
  std::lock_guard held(mutex_);
  auto oldest = entries_.end();
  for (auto it = entries_.begin(); it != entries_.end(); ++it)
    if (it->second.copy &&
        (oldest == entries_.end() || it->second.last_use < oldest->second.last_use))
      oldest = it;
  if (oldest == entries_.end()) return false;
  drop(oldest);
  return true;
}

shared_values::memory shared_values::own(std::string const& name) {
  return find(name).bytes;
}

shared_values::to_put shared_values::find(std::string const& name) {
  std::lock_guard held(mutex_);
  auto const it = entries_.find(name);
  if (it == entries_.end()) return {};
  it->second.last_use = it->second.copy ? clock::now() : it->second.last_use;
  return {it->second.bytes, it->second.via->holder()};
}

std::map<std::string, shared_values::entry>::iterator shared_values::drop(
    std::map<std::string, entry>::iterator it) {
  giver_.drop(it->first);
  it->second.via->dropped(it->first);
  return entries_.erase(it);
}

void shared_values::content_released(std::string const& name, bool by_closure, bool elsewhere) {
  std::lock_guard held(mutex_);
  auto const it = entries_.find(name);
  if (it == entries_.end() || closed_) return;
  auto& e = it->second;
  e.by_closure |= by_closure;
  e.elsewhere |= elsewhere;
  e.last_use = clock::now();
  if (!e.output || !e.unneeded || !e.content.expired()) return;
  // A function may have returned the value again without the server knowing, so the server is
  // queried again.
  e.unneeded = false;
  e.via->dropped(name);
  e.via->announce({name, e.bytes->bytes().size(), e.copy});
}

void shared_values::unneeded(std::string const& name) {
  {
    std::lock_guard held(mutex_);
    auto const it = entries_.find(name);
    if (it == entries_.end() || !it->second.output) return;
    it->second.unneeded = true;
    bool const copy = it->second.copy;
    if (it->second.content.expired()) drop(it);
    if (!copy) return;
  }
  on_.on_dropped(name);
}

// The copy stays in the cache.
void shared_values::unlisted(std::string const& name) {
  std::lock_guard held(mutex_);
  auto const it = entries_.find(name);
  if (it == entries_.end() || !it->second.copy) return;
  giver_.drop(name);
  entries_.erase(it);
}

std::vector<std::string> shared_values::tick(clock::time_point now) {
  std::vector<std::string> first;
  std::lock_guard held(mutex_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    auto& e = it->second;
    bool const is_over = !e.output && !e.is_put && e.content.expired() &&
                         now - stays >= e.last_use && e.last_use != clock::time_point();
    if (!is_over) {
      ++it;
    } else if (e.by_closure && !e.elsewhere) {
      it = drop(it);
    } else {
      if (now != clock::time_point::max()) {
        e.is_put = true;
        first.push_back(it->first);
      }
      ++it;
    }
  }
  return first;
}

void shared_values::let_go(std::string const& name) {
  std::lock_guard held(mutex_);
  auto const it = entries_.find(name);
  if (it != entries_.end() && it->second.is_put) drop(it);
}

std::vector<std::string> shared_values::needed() {
  std::lock_guard held(mutex_);
  std::vector<std::string> all;
  for (auto const& [name, e] : entries_) {
    bool const is_over = e.content.expired() && e.by_closure && !e.elsewhere;
    if (e.output ? !e.unneeded && !e.copy : !is_over) all.push_back(name);
  }
  return all;
}

// Stores an argument on the server, because an output refers to it.
void shared_values::output_names(std::string const& name) {
  {
    std::lock_guard held(mutex_);
    auto const it = entries_.find(name);
    if (it == entries_.end() || it->second.output) return;
  }
  on_.put(name);
}

}  // namespace muster::detail
