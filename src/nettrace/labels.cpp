#include "nettrace/labels.h"

namespace clrscope::nettrace {
namespace {

std::string read_text(ByteReader& in) { return std::string{as_text(in.take(in.read_varuint()))}; }

}  // namespace

void read_label_list(ByteReader& in, EventLabels& out) {
  for (bool last = false; !last && in.ok();) {
    const auto kind = in.read<std::uint8_t>();
    last = (kind & 0x80) != 0;
    switch (kind & 0x7f) {
      case 1:
        out.activity = in.read<Guid>();
        break;
      case 2:
        out.related = in.read<Guid>();
        break;
      case 3:
        out.trace_id = in.read<Guid>();
        break;
      case 4:
        out.span_id = in.read<std::uint64_t>();
        break;
      case 5: {
        auto key = read_text(in);
        out.texts.emplace_back(std::move(key), read_text(in));
        break;
      }
      case 6: {
        auto key = read_text(in);
        const auto zigzag = in.read_varuint();
        const auto value = static_cast<std::int64_t>((zigzag >> 1) ^ (0 - (zigzag & 1)));
        out.numbers.emplace_back(std::move(key), value);
        break;
      }
      case 7:
        out.opcode = in.read<std::uint8_t>();
        break;
      case 8:
        out.keywords = in.read<std::uint64_t>();
        break;
      case 9:
        out.level = in.read<std::uint8_t>();
        break;
      case 10:
        out.version = in.read<std::uint8_t>();
        break;
      default:
        in.fail();  // its length is not known
    }
  }
}

Bytes take_label_list(ByteReader& in) {
  ByteReader ahead{in};
  const auto begin = ahead.offset();
  for (bool last = false; !last && ahead.ok();) {
    const auto kind = ahead.read<std::uint8_t>();
    last = (kind & 0x80) != 0;
    switch (kind & 0x7f) {
      case 1:
      case 2:
      case 3:
        ahead.skip(16);
        break;
      case 4:
      case 8:
        ahead.skip(8);
        break;
      case 5:
        ahead.skip(ahead.read_varuint());
        ahead.skip(ahead.read_varuint());
        break;
      case 6:
        ahead.skip(ahead.read_varuint());
        (void)ahead.read_varuint();
        break;
      case 7:
      case 9:
      case 10:
        ahead.skip(1);
        break;
      default:
        ahead.fail();
    }
  }
  if (!ahead.ok()) {
    in.fail();
    return {};
  }
  return in.take(ahead.offset() - begin);
}

}  // namespace clrscope::nettrace
