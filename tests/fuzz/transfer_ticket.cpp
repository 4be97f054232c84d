// Fuzzes the transfer of large values, which stay in the memory of the process that made them. The
// first byte of the input chooses one of three parts:
//
//   0  the reference {"$blob":"…","bytes":N} that a value contains instead of its bytes
//   1  the address and the certificate of a process that gives a value for a ticket
//   2  steps of processes that hold values, and the tickets that the server issues for them
//
// The request of a process to another process is not fuzzed: peer_value_server reads its 64 bytes,
// a ticket and a name, from a socket on its own thread, and only compares them.
//
// Checked properties:
// - A reference that the client accepts, it writes so that client and server read the same name and
//   size.
// - An address that is accepted is written and read again to the same host and port. A wrong
//   certificate is an error of this transfer.
// - The server's table of holders is consistent after each step. It issues a ticket only for a
//   process with an address, after it has announced the ticket to that process. A ticket has 32
//   bytes and is new.
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <boost/json/value_to.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "client/blobs/peer_socket.hpp"
#include "muster/blobs.hpp"
#include "server/core/api/blob_name.hpp"
#include "server/hub/blob_files.hpp"
#include "server/hub/blob_holders.hpp"
#include "server/hub/blob_store.hpp"
#include "tests/fuzz/input_reader.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using fuzz::require;
namespace core = muster::core;
namespace detail = muster::detail;
namespace json = boost::json;
namespace server = muster::server;

constexpr std::size_t name_bytes = 32, ticket_bytes = 32;
constexpr char const* address = "10.0.0.1:7";
constexpr std::uint64_t counted_bytes_max = std::uint64_t{1} << 40;

std::optional<muster::blob> blob_in(std::string_view text) {
  boost::system::error_code ec;
  auto const value = json::parse({text.data(), text.size()}, ec);
  if (ec) return {};
  try {
    return json::value_to<muster::blob>(value);
  } catch (std::invalid_argument const&) {
    return {};
  }
}

void read_reference(std::string_view text) {
  auto const name = server::blob_named_by(text);
  require(name.empty() || name.size() == name_bytes, "a reference has a name of 32 bytes");
  require(name.empty() || core::names_blob(text), "only a reference has a name");
  require(core::named_blob_bytes(text) <= counted_bytes_max, "the size in a reference is limited");
  auto const read = blob_in(text);
  if (!read) return;
  auto const written = json::serialize(json::value_from(*read));
  auto const again = blob_in(written);
  require(again && again->sha256 == read->sha256 && again->bytes == read->bytes,
          "a reference is read as it was written");
  require(server::blob_hex_of(server::blob_named_by(written)) == read->sha256,
          "the server reads the name that the client wrote");
  require(core::named_blob_bytes(written) == (read->bytes <= counted_bytes_max ? read->bytes : 0),
          "the server reads the size that the client wrote");
}

void read_address(std::string const& text) {
  try {
    auto const at = detail::peer_address::parse(text);
    require(!at.host.empty(), "an address has a host");
    auto const again = detail::peer_address::parse(at.text());
    require(again.host == at.host && again.port == at.port, "an address is read as it was written");
  } catch (std::invalid_argument const&) {
  }
}

void read_certificate(std::string const& pem) {
  // OpenSSL would ask for the password of an encrypted certificate on the terminal. A context takes
  // much time, so other text is not tried.
  if (pem.find("-----BEGIN") == pem.npos || pem.find("ENCRYPTED") != pem.npos) return;
  try {
    require(detail::trusting_tls(pem) != nullptr, "an accepted certificate can be used");
  } catch (detail::peer_error const& e) {
    require(!std::string_view(e.what()).empty(), "a refused certificate has a reason");
  }
}

void read_place(std::string_view text) {
  auto const end = text.find('\n');
  read_address(std::string(text.substr(0, end)));
  if (end != text.npos) read_certificate(std::string(text.substr(end + 1)));
}

struct process final : server::holder_sink {
  void on_upload_requested(std::string_view) override {}
  bool on_ticket(std::string_view ticket, std::string_view name) override {
    announced = {std::string(ticket), std::string(name)};
    return has_room;
  }
  void on_released(std::string_view) override {}

  core::holder_id id = 0;  // 0 without a stream
  bool has_address = false, has_room = true;
  std::pair<std::string, std::string> announced;
};

class holders {
 public:
  void step(fuzz::input_reader& input) {
    auto const what = input.byte();
    auto& by = processes_[what / 16 % processes_.size()];
    auto const argument = input.byte();
    if (by.id == 0) return open(by, argument, input.byte());
    std::string const name(name_bytes, static_cast<char>('a' + argument % 8));
    std::uint64_t const size = argument / 8 % 3;
    switch (what % 16) {
      case 0:
        return close(by);
      case 1:
      case 2:
      case 3:
        (void)table().hold(by.id, name, size, now_);
        return;
      case 4:
      case 5:
        (void)table().copy(by.id, name, size, now_);
        return;
      case 6:
        return table().drop(by.id, name, now_);
      case 7:
        return all_.release_output(name);
      case 8:
        now_ += std::chrono::seconds(argument);
        (void)all_.sweep(now_, {.is_named = [](auto const&) { return true; },
                                .is_at_server = [](auto const&) { return false; }});
        return;
      case 9:
        by.has_room = !by.has_room;
        return;
      case 10:
        return require(all_.want(name, now_) == all_.knows(name),
                       "an upload is requested if a process holds the value");
      case 11:
        close(by);
        return open(by, argument, input.byte());
      default:
        fetch(name, argument % 2 == 0 ? "here" : "there");
    }
  }
  void check() {
    auto const wrong = table().invalid();
    require(wrong.empty(), wrong.c_str());
  }
  void close_all() {
    for (auto& p : processes_) close(p);
    check();
    require(table().counts().names == 0, "no value is held without a process");
  }

 private:
  core::holder_table& table() { return all_.table(); }

  void open(process& p, unsigned options, unsigned former) {
    core::holder_hello hello{"socket"};
    if (options % 4 > 0) hello.task = "worker:" + std::to_string(options % 4);
    if (options / 4 % 4 > 0) hello.host = options / 4 % 2 == 0 ? "here" : "there";
    hello.former = former < ids_.size() ? ids_[former] : 0;
    p.has_address = options / 16 % 2 == 0;
    server::blob_holders::peer at;
    if (p.has_address) at.address = address;
    p.id = all_.open(p, std::move(hello), std::move(at));
    require(p.id != 0, "a stream has a number");
    ids_[last_id_++ % ids_.size()] = p.id;
  }
  void close(process& p) {
    if (p.id == 0) return;
    all_.close(p.id, now_);
    p.id = 0;
  }
  void fetch(std::string const& name, std::string const& host) {
    auto const places = all_.places(name, host);
    require(places.empty() == !all_.knows(name), "a known value has a place");
    bool is_near = true;  // whether all places up to here are on the host
    for (auto const& at : places) {
      require(is_near || !at.same_host, "processes on the same host are first");
      is_near = at.same_host;
      give(name, at.by);
    }
  }
  void give(std::string const& name, core::holder_id from) {
    process* by = nullptr;
    for (auto& p : processes_)
      if (p.id == from) by = &p;
    require(by != nullptr, "a place is a connected process");
    by->announced = {};
    auto const ticket = all_.give_ticket(name, from);
    require(ticket.has_value() == (by->has_address && by->has_room),
            "a ticket is for a process that has an address and reads");
    if (!ticket) return;
    require(ticket->bytes.size() == ticket_bytes && ticket->at.address == address,
            "a ticket has 32 bytes and an address");
    require(by->announced == std::pair(ticket->bytes, name),
            "a ticket is announced to its process");
    require(issued_.insert(ticket->bytes).second, "a ticket is new");
  }

  server::blob_holders all_{core::holder_limits{.names_max = 6, .holders_max = 3}};
  std::array<process, 4> processes_;
  std::array<core::holder_id, 8> ids_{};  // the last streams
  std::size_t last_id_ = 0;
  std::set<std::string> issued_;
  core::time_point now_{std::chrono::seconds(1'000'000)};
};

void take_steps(fuzz::input_reader& input) {
  holders all;
  while (!input.at_end()) {
    all.step(input);
    all.check();
  }
  all.close_all();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::input_reader input(data, size);
  auto const part = input.byte() % 3;
  if (part == 0) read_reference(input.rest());
  if (part == 1) read_place(input.rest());
  if (part == 2) take_steps(input);
  return 0;
}
