// Payloads of real traces against what TraceEvent says of them (tests/data/payload/events.tsv).
#include <gtest/gtest.h>

#include <charconv>
#include <fstream>
#include <map>

#include "base/test_data.h"
#include "base/text.h"
#include "nettrace/payload_text.h"

namespace clrscope::nettrace {
namespace {

std::vector<std::uint8_t> hex(std::string_view digits) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    std::uint8_t byte = 0;
    std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    bytes.push_back(byte);
  }
  return bytes;
}

std::map<std::string, std::string> decoded(const PayloadPlan& plan, Bytes payload) {
  std::map<std::string, std::string> texts;
  EXPECT_EQ(for_each_field(plan, payload,
                           [&](const PayloadField& field, const Value& value) {
                             append_text(texts[std::string{field.name}], plan, field, value);
                           }),
            Decoded::kComplete);
  return texts;
}

// TraceEvent names the fields of every version and gives these for those an old one lacks.
bool is_default(std::string_view text) {
  return text.empty() || text == "0" || text == "False" || text == "0x00000000" || text == "None" ||
         text == "00000000-0000-0000-0000-000000000000";
}

TEST(PayloadTruth, SaysWhatTraceEventSaysOfRealEvents) {
  std::ifstream file{test_data("payload/events.tsv")};
  std::size_t events = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const auto columns = split(line, '\t');
    ASSERT_GE(columns.size(), 5U);
    EventType type;
    type.provider = columns[0];
    type.id = static_cast<std::uint32_t>(*parse_number(columns[1]));
    type.version = static_cast<std::uint32_t>(*parse_number(columns[2]));
    const auto payload = hex(columns[4]);
    const auto plan = make_plan(type, 8);
    const auto where = std::string{columns[0]} + " " + std::string{columns[3]};
    EXPECT_EQ(plan.event_name(), columns[3]) << where;
    const auto texts = decoded(plan, payload);
    for (std::size_t i = 5; i < columns.size(); ++i) {
      const auto equals = columns[i].find('=');
      const auto name = columns[i].substr(0, equals), text = columns[i].substr(equals + 1);
      const auto found = texts.find(std::string{name});
      if (found == texts.end()) {
        EXPECT_TRUE(is_default(text)) << where << ' ' << name;
      } else {
        EXPECT_EQ(found->second, text) << where << ' ' << name;
      }
    }
    ++events;
  }
  EXPECT_GT(events, 100U);
}

}  // namespace
}  // namespace clrscope::nettrace
