// Prints values of the core when a GoogleTest comparison fails. Found by argument-dependent lookup.
#pragma once

#include <ostream>
#include <type_traits>

#include "server/core/api/effects.hpp"
#include "server/core/api/views.hpp"

namespace muster::core {

template <class Id>
concept strong_id = std::is_enum_v<Id> && std::is_unsigned_v<std::underlying_type_t<Id>> &&
                    sizeof(Id) >= 4;
template <class Enum>
concept named = std::is_enum_v<Enum> && requires(Enum e) {
  name(e);
};

template <strong_id Id>
std::ostream& operator<<(std::ostream& out, Id id) {
  return out << '#' << std::hex << raw(id) << std::dec;
}
template <named Enum>
std::ostream& operator<<(std::ostream& out, Enum e) {
  return out << name(e);
}
inline std::ostream& operator<<(std::ostream& out, notice_kind n) {
  return out << (n == notice_kind::room ? "room" : n == notice_kind::failed ? "failed" : "drained");
}
inline void PrintTo(blob const& b, std::ostream* out) {
  *out << (b ? b.view() : "(no value)") << (b.encoding() == encoding::bytes ? " (bytes)" : "");
}
inline void PrintTo(status const& s, std::ostream* out) {
  *out << name(s.code) << " \"" << s.message << "\"";
}
inline void PrintTo(failure const& f, std::ostream* out) {
  *out << name(f.kind) << " \"" << f.message << "\" on '" << f.worker << "' attempt " << f.attempt;
}
inline void PrintTo(welcome const& w, std::ostream* out) {
  *out << "welcome " << raw(w.stream) << " as " << w.job << ":" << w.index << " credits "
       << w.credits << " beat " << w.heartbeat_interval.count() << " us";
}
inline void PrintTo(assignment const& a, std::ostream* out) {
  *out << a.closure << " attempt " << a.attempt << " function " << raw(a.function) << " "
       << a.args.view();
}
inline void PrintTo(dispatch const& d, std::ostream* out) {
  *out << d.count << " from " << d.first << " to stream " << raw(d.stream);
}
inline void PrintTo(stop_request const& s, std::ostream* out) {
  *out << "stop " << s.closure << " attempt " << s.attempt << " on stream " << raw(s.stream);
}
inline void PrintTo(drain_request const& d, std::ostream* out) {
  *out << "drain stream " << raw(d.stream);
}
inline void PrintTo(disconnect const& d, std::ostream* out) {
  *out << "disconnect " << raw(d.stream) << (d.final ? " for good: " : ": ");
  PrintTo(d.status, out);
}
inline void PrintTo(outcome const& o, std::ostream* out) {
  *out << "token " << o.token << " of session " << raw(o.session) << ": ";
  if (o.ok) return PrintTo(o.value, out);
  PrintTo(*o.failure, out);
}
inline void PrintTo(session_notification const& n, std::ostream* out) {
  *out << n.kind << " in session " << raw(n.session);
}
inline void PrintTo(join_reply const& j, std::ostream* out) {
  *out << (j.done ? "done " : "not done ") << name(j.state);
  if (j.has_error) *out << " ", PrintTo(j.error, out);
}
inline void PrintTo(value_reply const& v, std::ostream* out) {
  *out << name(v.state) << " " << name(v.value) << " ";
  PrintTo(v.data, out);
  *out << " ";
  PrintTo(v.failure, out);
}
inline void PrintTo(reply const& r, std::ostream* out) {
  *out << "reply to " << raw(r.call) << ": ";
  PrintTo(r.status, out);
}
inline void PrintTo(closure_counts const& c, std::ostream* out) {
  *out << c.queued << " queued, " << c.running << " running, " << c.succeeded << " succeeded, "
       << c.failed << " failed, " << c.cancelled << " cancelled";
}

}  // namespace muster::core
