#include "server/rpc/schedule_convert.hpp"

#include "proto/columns.hpp"

namespace muster::server {
namespace {

constexpr std::size_t session_name_bytes_max = 256;

std::string unequal(std::string field, int size, int expected) {
  return field + ": " + std::to_string(size) + " entries for " + std::to_string(expected) +
         " tokens";
}

std::string check_columns(v1::SessionRequest const& m) {
  int const n = m.token_size();
  if (m.function_size() != n) return unequal("function", m.function_size(), n);
  if (m.args_size() != n) return unequal("args", m.args_size(), n);
  if (m.encoding_size() != 0 && m.encoding_size() != n)
    return unequal("encoding", m.encoding_size(), n);
  for (int i = 0; i < m.encoding_size(); ++i)
    if (!v1::Encoding_IsValid(m.encoding(i)))
      return "encoding[" + std::to_string(i) + "]: unknown number " +
             std::to_string(static_cast<int>(m.encoding(i)));
  return {};
}

// The arguments of a function that takes none: one allocation for all of them.
core::blob const& no_arguments() {
  static core::blob const none("[]");
  return none;
}

}  // namespace

core::result<core::session_spec> from_wire(v1::Open const& o) {
  if (!o.cluster().empty() && o.cluster() != "default")
    return core::status{core::code::not_found,
                        "open.cluster: there is no cluster '" + o.cluster() + "'"};
  if (o.name().size() > session_name_bytes_max)
    return core::status{core::code::invalid_argument,
                        "open.name: " + std::to_string(o.name().size()) + " bytes, the limit is " +
                            std::to_string(session_name_bytes_max)};
  core::session_spec spec;
  spec.name = o.name();
  spec.on_error = o.continue_on_error() ? core::on_error::continue_all : core::on_error::fail_fast;
  spec.open = true;
  spec.keep_values = false;
  spec.queue_capacity = o.queue_capacity();
  spec.max_worker_failures = o.max_worker_failures();
  spec.unlimited_worker_failures = o.unlimited_worker_failures();
  return spec;
}

std::string from_wire(v1::SessionRequest const& m, std::vector<core::function_id> const& functions,
                      std::vector<core::closure_spec>& closures) {
  if (auto wrong = check_columns(m); !wrong.empty()) return wrong;
  int const n = m.token_size();
  closures.reserve(closures.size() + static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    if (m.function(i) >= functions.size())
      return "function[" + std::to_string(i) + "]: number " + std::to_string(m.function(i)) +
             ", the stream has named " + std::to_string(functions.size());
    auto& c = closures.emplace_back();
    c.function = functions[m.function(i)];
    c.token = m.token(i);
    bool const bytes = proto::is_bytes(m.encoding(), i);
    auto const& args = m.args(i);
    c.args = !bytes && args == "[]"
                 ? no_arguments()
                 : core::blob(args, bytes ? core::encoding::bytes : core::encoding::json);
  }
  return {};
}

}  // namespace muster::server
