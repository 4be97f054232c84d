// PUT and GET of a blob in chunks, with at most one mebibyte in memory. A slow client does not
// delay other clients.
#include "base/no_room.hpp"
#include "server/hub/blob_store.hpp"
#include "web/metrics/metric_text.hpp"
#include "web/rest/answers.hpp"

namespace muster::web {

namespace {

using server::blob_store;

constexpr std::size_t piece_bytes = std::size_t{1} << 20;
// Time limit for the disk: syncing a blob of one gibibyte is a single operation.
constexpr std::chrono::minutes disk_limit{5};
constexpr std::chrono::seconds held_limit{30};

problem malformed(std::string_view text) {
  return invalid("sha256",
                 "expected 64 lowercase hexadecimal digits, got '" + std::string(text) + "'");
}

problem upload_problem(muster::status const& s, core::blob_limits const& limits) {
  auto p = to_problem(s);
  if (s.code == muster::code::out_of_range) {
    p.status = 413;
    p.limit = std::to_string(limits.blob_bytes_max) + " bytes";
  } else if (s.code == muster::code::invalid_argument) {
    p.status = 422;
    p.field = "sha256";
  } else if (s.code == muster::code::resource_exhausted && !is_no_room(s)) {
    p.limit = std::to_string(s.limit > 0 ? s.limit : limits.bytes_max) + " bytes";
  }
  return p;
}

void blob_members(member_list const& m, std::string_view hex, std::uint64_t bytes) {
  m.json(
      "sha256", [] { return schema::matching("^[0-9a-f]{64}$"); },
      [hex](json_out& out) { out.string(hex); });
  m("bytes", bytes);
}

response put_answer(std::string_view hex, std::uint64_t bytes, bool is_new) {
  auto r = object_response(blob_members, hex, bytes);
  r.status = is_new ? 201 : 200;
  return r;
}

class blob_upload {
 public:
  blob_upload(web_context& context, exchange& ex, std::string hash)
      : context_(context), ex_(ex), hash_(std::move(hash)) {}

  coro::task<response> run() {
    auto const begun = co_await begin();
    if (!begun.ok()) co_return problem_response(upload_problem(begun, limits_));
    if (there_) {
      co_return co_await pass_over();
    }
    auto const done = co_await take();
    if (done.ok()) co_return put_answer(ex_.req.capture("sha256"), bytes_, true);
    abandon(id_);
    co_return problem_response(upload_problem(done, limits_));
  }

 private:
  coro::task<muster::status> begin() {
    struct begun_upload {
      core::blob_limits limits;
      muster::status failure;
      std::optional<std::uint64_t> stored_bytes;
    };
    // Only the engine thread uses the ID until that thread has replied, because the work can run
    // after the time limit.
    auto const id = std::make_shared<blob_store::upload_id>(0);
    auto work = [id, hash = hash_, size = ex_.req.content_length,
                 who = ex_.req.who](engine_services& services) {
      auto& store = services.blobs;
      begun_upload begun{store.limits(), {}, {}};
      if (store.lease(hash)) {
        begun.stored_bytes = store.size_of(hash);
      } else if (auto full = services.coordination.journal_refusal(); is_no_room(full)) {
        begun.failure = std::move(full);
      } else if (auto const made = store.begin(hash, size, {}, who)) {
        *id = *made;
      } else {
        begun.failure = made.error();
      }
      return begun;
    };
    auto const begun = co_await context_.engine.on_engine(std::move(work));
    if (!begun) {
      context_.engine.post([id](engine_services& services) { services.blobs.abandon(*id); });
      co_return begun.error();
    }
    limits_ = begun->limits;
    there_ = begun->stored_bytes.has_value();
    bytes_ = begun->stored_bytes.value_or(0);
    id_ = *id;
    co_return begun->failure;
  }

  // Discards the body, so that the connection can be reused.
  coro::task<response> pass_over() {
    for (std::uint64_t passed = 0; passed <= limits_.blob_bytes_max;) {
      auto const piece = co_await ex_.read_some();
      if (!piece) co_return problem_response(piece.error());
      if (piece->empty()) break;
      passed += piece->size();
    }
    co_return put_answer(ex_.req.capture("sha256"), bytes_, false);
  }

  coro::task<muster::status> take() {
    std::string gathered;
    for (;;) {
      auto piece = co_await ex_.read_some();
      if (!piece) co_return piece.error();
      bool const last = piece->empty();
      gathered += *piece;
      if (gathered.size() < piece_bytes && !last) continue;
      bytes_ += gathered.size();
      if (!gathered.empty()) {
        auto const appended = co_await append(std::exchange(gathered, {}));
        if (!appended.ok()) co_return appended;
      }
      if (last) break;
    }
    auto work = [id = id_](engine_services& services, answer_handle<muster::status> const& slot) {
      services.blobs.finish(id, [slot](muster::status s) { slot->send(std::move(s)); });
    };
    co_return co_await context_.engine.call<muster::status>(std::move(work), disk_limit, nullptr);
  }

  coro::task<muster::status> append(std::string piece) {
    auto work = [id = id_, piece = std::move(piece)](
                    engine_services& services, answer_handle<muster::status> const& slot) mutable {
      services.blobs.append(id, std::move(piece),
                            [slot](muster::status s) { slot->send(std::move(s)); });
    };
    co_return co_await context_.engine.call<muster::status>(std::move(work), disk_limit, nullptr);
  }

  void abandon(blob_store::upload_id id) {
    context_.engine.post([id](engine_services& services) { services.blobs.abandon(id); });
  }

  web_context& context_;
  exchange& ex_;
  std::string const hash_;
  core::blob_limits limits_;
  bool there_ = false;
  blob_store::upload_id id_ = 0;
  std::uint64_t bytes_ = 0;
};

coro::task<response> put_blob(web_context& context, exchange& ex) {
  auto const hash = server::blob_hash_of(ex.req.capture("sha256"));
  if (hash.empty()) co_return problem_response(malformed(ex.req.capture("sha256")));
  blob_upload upload(context, ex, hash);
  co_return co_await upload.run();
}

coro::task<muster::result<std::string>> read_piece(web_context& context, std::string const& hash,
                                                   std::uint64_t at) {
  using piece = muster::result<std::string>;
  auto work = [hash, at](engine_services& services, answer_handle<piece> const& slot) {
    services.blobs.read(hash, at, piece_bytes, [slot](piece got) { slot->send(std::move(got)); });
  };
  co_return co_await context.engine.call<piece>(std::move(work), disk_limit, nullptr);
}

coro::task<response> stream_blob(web_context& context, exchange& ex, std::string const& hash,
                                 std::uint64_t at, std::uint64_t size) {
  response head;
  head.content_type = "application/octet-stream";
  head.headers.emplace_back("Content-Length", std::to_string(size - at));
  bool alive = co_await ex.begin_stream(std::move(head));
  while (alive && at < size && !ex.stopping()) {
    auto piece = co_await read_piece(context, hash, at);
    if (!piece) break;
    at += piece->size();
    alive = co_await ex.write_piece(std::move(*piece));
  }
  co_return co_await end_stream(ex, alive && at >= size);
}

// Returns the size of the blob. Waits if only a worker or client has the blob in memory. If the
// blob was lost and recomputed, sets `hash` to the new hash.
coro::task<muster::result<std::optional<std::uint64_t>>> find_blob(web_context& context,
                                                                   std::string& hash) {
  auto fetch = [hash](engine_services& services, answer_handle<muster::status> const& slot) {
    services.blobs.fetch(hash, held_limit, [slot] { slot->send(muster::status()); });
  };
  auto const fetched = co_await context.engine.call<muster::status>(
      std::move(fetch), held_limit + std::chrono::seconds(5), nullptr);
  if (!fetched.ok()) co_return fetched;
  using found = std::pair<std::string, std::optional<std::uint64_t>>;
  auto work = [hash](engine_services& services) {
    auto now = services.blobs.current(hash);
    auto const size = services.blobs.size_of(now);
    return found(std::move(now), size);
  };
  auto where = co_await context.engine.on_engine(std::move(work));
  if (!where) co_return where.error();
  hash = std::move(where->first);
  co_return where->second;
}

coro::task<response> get_blob(web_context& context, exchange& ex) {
  auto const text = ex.req.capture("sha256");
  auto hash = server::blob_hash_of(text);
  if (hash.empty()) co_return problem_response(malformed(text));
  query_check query(ex.req);
  auto const offset = query.number("offset", 0);
  auto const found = co_await find_blob(context, hash);
  if (!found) co_return problem_response(found.error());
  if (!*found) co_return problem_response(to_problem(server::no_such_blob(hash)));
  auto const size = **found;
  if (offset > size)
    co_return problem_response(impossible("offset", "the blob has only " + std::to_string(size) +
                                                        " bytes, but the offset is " +
                                                        std::to_string(offset)));
  co_return co_await stream_blob(context, ex, hash, offset, size);
}

void held_members(member_list const& m, core::holder_counts const& c) {
  m("processes", c.holders, "processes that hold large values, or can hold them");
  m("values", c.names);
  m("outputs", c.outputs,
    "values that are outputs in workers; the other values are arguments in clients");
  m("bytes", c.bytes, "bytes of the values, each counted once");
  m("copies", c.copies, "additional copies of outputs in the memory of other workers");
  m("copy_bytes", c.copy_bytes, "bytes of the copies; processes of a host share one copy");
}

void worker_members(member_list const& m, core::worker_holding const& w) {
  m("task", w.task);
  m("values", w.names,
    "values in the worker's memory, including copies of values of other workers");
  m("bytes", w.bytes);
}

void taken_members(member_list const& m, server::value_traffic const& t) {
  m("shared", t.shared, "through memory shared by two processes on one host");
  m("peer", t.peer, "directly from another host");
  m("server", t.server, "from the server");
}

void blob_count_members(member_list const& m, server::blob_figures const& f) {
  auto const& c = f.there;
  m("blobs", c.blobs, "blobs on the server");
  m("bytes", c.bytes, "bytes of the stored blobs and of unfinished uploads");
  m("held", c.held, "blobs that are stored because a value or an unfinished program uses them");
  m("held_bytes", c.held_bytes);
  m("bytes_max", c.bytes_max, "--blob-bytes-max");
  m.object(
      "elsewhere",
      [&f](member_list const& of) {
        held_members(of, f.elsewhere);
        of.list("workers", f.workers, worker_members,
                "the workers that hold the most bytes, at most 20");
      },
      "large values in the memory of workers and clients");
  m.object(
      "taken_bytes", [&f](member_list const& of) { taken_members(of, f.taken); },
      "bytes of large values transferred since the server started, by path");
}

coro::task<response> get_blobs(web_context& context, exchange&) {
  auto work = [](engine_services& services) { return services.blobs.figures(); };
  return respond_with(context, std::move(work), as_members<blob_count_members>);
}

}  // namespace

std::string blob_metrics(server::blob_figures const& f) {
  auto const& c = f.there;
  metric_text m;
  m.gauge("muster_blobs", "Blobs stored on the server.", c.blobs);
  m.gauge("muster_blob_bytes", "Bytes of the stored blobs and of unfinished uploads.", c.bytes);
  m.gauge("muster_blobs_held", "Blobs used by a value or by an unfinished program.", c.held);
  m.gauge("muster_blob_budget_bytes", "Limit on the bytes of all blobs (--blob-bytes-max).",
          c.bytes_max);
  m.gauge("muster_values_elsewhere", "Large values in the memory of workers and clients.",
          f.elsewhere.names);
  m.gauge("muster_values_elsewhere_bytes",
          "Bytes of large values in the memory of workers and clients.", f.elsewhere.bytes);
  m.gauge("muster_value_copies", "Copies of outputs in the memory of other workers.",
          f.elsewhere.copies);
  m.gauge("muster_value_copy_bytes", "Bytes of copies of outputs in the memory of other workers.",
          f.elsewhere.copy_bytes);
  m.family("muster_value_bytes_total", "counter", "Bytes of large values transferred, by path.")
      .sample("way", "shared", f.taken.shared)
      .sample("way", "peer", f.taken.peer)
      .sample("way", "server", f.taken.server);
  return m.take();
}

void add_blob_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/blobs", get_blobs, "getBlobs", "Get the number and size of blobs")
                   .responds_with("BlobCounts", schema_of_members<blob_count_members>));
  to.push_back(get("/api/v1/blobs/{sha256}", get_blob, "getBlob",
                   "Get the bytes of a large argument or value")
                   .with({{"offset", query_kind::number, "first byte to send; default 0"}})
                   .as({"application/octet-stream"})
                   .responds_with("")
                   .also(404, "The blob does not exist: it was not uploaded or has been deleted")
                   .also(422, "The offset is beyond the end of the blob"));
  route put{"PUT", "/api/v1/blobs/{sha256}", put_blob, "putBlob",
            "Upload a blob under the SHA-256 of its bytes"};
  put.schema = "Octets";
  to.push_back(std::move(
      put.responds_with("BlobView", schema_of_members<blob_members>, 201)
          .also(200, "The blob already existed", "BlobView")
          .also(413, "The blob is larger than 1 GiB")
          .also(422, "The bytes do not match the SHA-256")
          .also(429, "The limit --blob-bytes-max is reached, or too many uploads are in progress")
          .also(507, "The disk is full")));
}

}  // namespace muster::web
