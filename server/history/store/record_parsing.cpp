#include "server/history/store/record_parsing.hpp"

#include <google/protobuf/io/coded_stream.h>

#include <cstdint>
#include <memory>

namespace muster::server {
namespace {

// Skips the value of a field by its wire type. False: it is cut, or of no type that records have.
bool skip_value(google::protobuf::io::CodedInputStream& in, std::uint32_t tag) {
  std::uint64_t number = 0;
  std::uint32_t size = 0;
  switch (tag & 7) {
    case 0:
      return in.ReadVarint64(&number);
    case 1:
      return in.Skip(8);
    case 2:
      return in.ReadVarint32(&size) && size <= INT32_MAX && in.Skip(static_cast<int>(size));
    case 5:
      return in.Skip(4);
    default:
      return false;
  }
}

}  // namespace

std::size_t read_fields(std::string_view bytes, google::protobuf::MessageLite& to) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<std::uint8_t const*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  std::unique_ptr<google::protobuf::MessageLite> const one(to.New());
  std::size_t lost = 0;
  for (std::size_t begin = 0; begin < bytes.size();) {
    auto const tag = in.ReadTag();
    if (tag == 0 || !skip_value(in, tag)) return lost + 1;
    auto const end = static_cast<std::size_t>(in.CurrentPosition());
    if (one->ParseFromArray(bytes.data() + begin, static_cast<int>(end - begin)))
      to.CheckTypeAndMergeFrom(*one);
    else
      ++lost;
    begin = end;
  }
  return lost;
}

}  // namespace muster::server
