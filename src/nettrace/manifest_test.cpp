#include "nettrace/manifest.h"

#include <gtest/gtest.h>

#include "nettrace/payload_text.h"

namespace clrscope::nettrace {
namespace {

constexpr std::string_view kManifest = R"xml(<?xml version="1.0"?>
<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events">
 <!-- <provider name="No"/> -->
 <instrumentation><events>
<provider name="Shop" guid="{01234567-89ab-cdef-0123-456789abcdef}" symbol="Shop">
 <tasks><task name="Order" value="65533"/></tasks>
 <opcodes><opcode name="Paid" value="11"/></opcodes>
 <maps>
  <valueMap name="Colour"><map value="0x1" message="$(string.map_ColourRed)"/><map value="0x2" message="$(string.map_ColourBlue)"/></valueMap>
  <bitMap name="Bits"><map value="0x1" message="$(string.map_BitsOne)"/><map value="0x4" message="four &amp; more"/></bitMap>
 </maps>
 <keywords><keyword name="Money" message="$(string.k)" mask="0x10"/><keyword name="Goods" mask="0x20"/></keywords>
 <events>
  <event value="1" version="2" level="win:Warning" symbol="OrderPaid" opcode="Paid" keywords="Money Goods" task="Order" template="OrderArgs"/>
  <event value="2" version="0" level="win:Informational" symbol="OrderStart" opcode="win:Start"/>
 </events>
 <templates>
  <template tid="OrderArgs">
   <data name="id" inType="win:Int32"/>
   <data name="colour" inType="win:UInt32" map="Colour"/>
   <data name="bits" inType="win:UInt32" map="Bits"/>
   <data name="who" inType="win:UnicodeString"/>
   <data name="size" inType="win:UInt32"/>
   <data name="blob" inType="win:Binary" length="size"/>
  </template>
 </templates>
</provider></events></instrumentation>
<localization><resources culture="en-US"><stringTable>
 <string id="map_ColourRed" value="Red"/><string id="map_ColourBlue" value="Bl&#x75;e"/><string id="map_BitsOne" value="one"/>
</stringTable></resources></localization></instrumentationManifest>)xml";

std::vector<std::uint8_t> piece(std::uint16_t total, std::uint16_t index, std::string_view text) {
  ByteWriter out;
  out.write<std::uint8_t>(1);
  out.write<std::uint8_t>(1);
  out.write<std::uint8_t>(0);
  out.write<std::uint8_t>(0x5b);
  out.write(total);
  out.write(index);
  out.put(text);
  return std::move(out).take();
}

EventType shop_event(std::uint32_t id, std::uint32_t version) {
  EventType type;
  type.provider = "Shop";
  type.index = id;
  type.id = id;
  type.version = version;
  return type;
}

TEST(Manifest, GivesTheEventsOfAProvider) {
  const auto manifests = parse_manifest(kManifest);
  ASSERT_EQ(manifests.size(), 1U);
  const auto& manifest = manifests.front();
  EXPECT_EQ(manifest.provider, "Shop");
  EXPECT_EQ(manifest.guid, "01234567-89ab-cdef-0123-456789abcdef");
  ASSERT_EQ(manifest.events.size(), 2U);
  EXPECT_EQ(manifest.events[0].name, "OrderPaid");
  EXPECT_EQ(manifest.events[0].opcode, 11);
  EXPECT_EQ(manifest.events[0].level, 3);
  EXPECT_EQ(manifest.events[0].keywords, 0x30U);
  EXPECT_EQ(manifest.events[0].fields.size(), 6U);
  EXPECT_EQ(manifest.events[1].opcode, 1);
}

TEST(Manifest, DescribesThePayloadOfEventsThatTheTraceDoesNot) {
  ManifestSet manifests;
  PayloadPlans plans{8, &manifests};
  const auto type = shop_event(1, 2);
  EXPECT_EQ(plans.of(type).schema(), Schema::kUnknown);
  const auto half = kManifest.size() / 2;
  EXPECT_TRUE(manifests.add("Shop", piece(2, 0, kManifest.substr(0, half))));
  EXPECT_EQ(manifests.size(), 0U);
  EXPECT_TRUE(manifests.add("Shop", piece(2, 1, kManifest.substr(half))));
  ASSERT_EQ(manifests.size(), 1U);

  ByteWriter out;
  out.write<std::int32_t>(5);
  out.write<std::uint32_t>(2);
  out.write<std::uint32_t>(0xd);
  for (const char16_t c : u"Ada") out.write(c);
  out.write<std::uint32_t>(2);
  out.write<std::uint16_t>(0xbeef);
  const auto& plan = plans.of(type);
  EXPECT_EQ(plan.schema(), Schema::kManifest);
  std::string text;
  append_text(text, plan, out.bytes());
  EXPECT_EQ(text,
            "id=\"5\" colour=\"Blue\" bits=\"one|four & more|0x8\" who=\"Ada\" size=\"2\" "
            "blob=\"efbe\"");
  EXPECT_EQ(plans.of(shop_event(2, 0)).event_name(), "Order/Start");
}

TEST(Manifest, RefusesWhatIsNoPieceOfOne) {
  ManifestSet manifests;
  EXPECT_FALSE(manifests.add("Shop", {}));
  EXPECT_FALSE(manifests.add("Shop", piece(1, 1, kManifest)));
  auto other = piece(1, 0, kManifest);
  other[3] = 0;
  EXPECT_FALSE(manifests.add("Shop", other));
  EXPECT_EQ(manifests.of("Shop"), nullptr);
}

TEST(Manifest, BoundsWhatManyEventsOfOneLargeTemplateCost) {
  std::string xml = "<provider name=\"P\"><templates><template tid=\"T\">";
  for (int i = 0; i < 2000; ++i) xml += "<data name=\"n\" inType=\"win:Int32\"/>";
  xml += "</template></templates><events>";
  for (int i = 0; i < 2000; ++i) xml += "<event value=\"1\" template=\"T\"/>";
  const auto manifests = parse_manifest(xml + "</events></provider>");
  ASSERT_EQ(manifests.size(), 1U);
  std::size_t fields = 0;
  for (const auto& event : manifests.front().events) fields += event.fields.size();
  EXPECT_GE(fields, 2000U);
  EXPECT_LE(fields, 200'000U);
}

TEST(Manifest, TakesWhatItCanOfADamagedOne) {
  for (std::size_t size = 0; size < kManifest.size(); ++size)
    for (const auto& manifest : parse_manifest(kManifest.substr(0, size)))
      EXPECT_TRUE(manifest.provider == "Shop" || manifest.provider.empty() ||
                  std::string_view{"Shop"}.starts_with(manifest.provider));
}

}  // namespace
}  // namespace clrscope::nettrace
