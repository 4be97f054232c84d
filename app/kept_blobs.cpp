// With etcd blobs are this server's alone, and do not outlive it.
#include "app/kept_blobs.hpp"

#include "app/app.hpp"
#include "server/disk/own_files.hpp"

namespace muster::server {
namespace {

constexpr auto looked_every = std::chrono::seconds(1);

blob_store_options options_from(configuration const& c) {
  blob_store_options o;
  o.limits = c.blobs;
  o.files.durable = !c.data_dir.empty();
  if (auto const& in = o.files.durable ? c.data_dir : c.spill_dir; !in.empty())
    o.files.directory = in / blob_folder;
  return o;
}

}  // namespace

kept_blobs::kept_blobs(configuration const& c, coro::engine_context& engine,
                       anchored_clock const& clock)
    : store_(options_from(c),
             {.now = [&clock] { return clock.now(); },
              .post = [&engine](std::function<void()> work) { engine.post(std::move(work)); }}),
      next_look_(engine) {}

void kept_blobs::open() {
  auto const opened = store_.start();
  if (!opened.ok()) throw start_error("blobs: " + opened.message);
}

void kept_blobs::look(pools& all) {
  store_.sweep([&all](core::closure_id id) {
    auto const view = all.of(id).state().closure(id);
    return view && !view->history && view->state == core::closure_state::succeeded &&
           view->released.empty();
  });
  next_look_.call_at(coro::timer::clock::now() + looked_every, [this, &all] { look(all); });
}

}  // namespace muster::server
