#include "nettrace/manifest.h"

#include <algorithm>
#include <charconv>

#include "nettrace/manifest_xml.h"

namespace clrscope::nettrace {
namespace {

constexpr std::size_t kLargest = 16 * 1024 * 1024;  // bytes of one provider's manifest
constexpr std::size_t kMostProviders = 4096;
constexpr std::size_t kMostFields = 200'000;  // of all events together; templates are shared
constexpr std::size_t kMostKeywords = 256;

std::uint64_t number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

std::uint8_t level_of(std::string_view name) {
  if (name == "win:Critical") return 1;
  if (name == "win:Error") return 2;
  if (name == "win:Warning") return 3;
  if (name == "win:Informational") return 4;
  if (name == "win:Verbose") return 5;
  return static_cast<std::uint8_t>(number(name));
}

Wire wire_of(std::string_view type, std::uint32_t pointer_size) {
  constexpr std::pair<std::string_view, Wire> kTypes[] = {
      {"win:Int8", Wire::kInt8},
      {"win:UInt8", Wire::kUInt8},
      {"win:Int16", Wire::kInt16},
      {"win:UInt16", Wire::kUInt16},
      {"win:Int32", Wire::kInt32},
      {"win:UInt32", Wire::kUInt32},
      {"win:Int64", Wire::kInt64},
      {"win:UInt64", Wire::kUInt64},
      {"win:HexInt32", Wire::kUInt32},
      {"win:HexInt64", Wire::kUInt64},
      {"win:Float", Wire::kFloat32},
      {"win:Double", Wire::kFloat64},
      {"win:Boolean", Wire::kBool32},
      {"win:GUID", Wire::kGuid},
      {"win:FILETIME", Wire::kFileTime},
      {"win:SYSTEMTIME", Wire::kSystemTime},
      {"win:AnsiString", Wire::kUtf8z},
      {"win:UnicodeString", Wire::kUtf16z},
      {"trace:UnicodeChar", Wire::kChar16},
      {"win:Binary", Wire::kUInt8},
  };
  if (type == "win:Pointer") return pointer_size == 4 ? Wire::kUInt32 : Wire::kUInt64;
  for (const auto& [name, wire] : kTypes)
    if (name == type) return wire;
  return Wire::kDecimal;  // none of these has 16 bytes of its own; see valid()
}

// Collects one provider while its elements go by.
class Collector {
 public:
  explicit Collector(std::uint32_t pointer_size) : pointer_size_(pointer_size) {}

  void open(const XmlTag& tag) {
    const auto name = tag.local_name();
    if (name == "provider") {
      manifest_.emplace();
      manifest_->provider = tag.attribute("name");
      manifest_->guid = tag.attribute("guid");
      std::erase_if(manifest_->guid, [](char c) { return c == '{' || c == '}'; });
    }
    if (name == "string") strings_[tag.attribute("id")] = tag.attribute("value");
    if (!manifest_) return;
    if (name == "keyword" && manifest_->keywords.size() < kMostKeywords) {
      manifest_->keywords.emplace_back(tag.attribute("name"), number(tag.attribute("mask")));
    } else if (name == "opcode") {
      opcodes_[tag.attribute("name")] = static_cast<std::uint8_t>(number(tag.attribute("value")));
    } else if (name == "valueMap" || name == "bitMap") {
      map_ = &maps_.emplace_back();
      map_->name = tag.attribute("name");
      map_->flags = name == "bitMap";
    } else if (name == "map" && map_ != nullptr) {
      map_->values.emplace_back(number(tag.attribute("value")), tag.attribute("message"));
    } else if (name == "template") {
      open_structs_.clear();
      open_structs_.push_back(&templates_[tag.attribute("tid")]);
    } else if (name == "struct" && !open_structs_.empty()) {
      open_struct(tag);
    } else if (name == "data" && !open_structs_.empty()) {
      add_data(tag);
    } else if (name == "event") {
      events_.push_back(tag);
    }
  }

  void close(std::string_view name) {
    if (name == "struct" && open_structs_.size() > 1) open_structs_.pop_back();
    if (name == "template") open_structs_.clear();
    if (name == "valueMap" || name == "bitMap") map_ = nullptr;
    if (name == "provider" && manifest_)
      done_.push_back(std::exchange(manifest_, std::nullopt)), pending_.push_back(take());
  }

  // String tables come after the providers, so texts are looked up at the end.
  std::vector<Manifest> finish() {
    if (manifest_)
      done_.push_back(std::exchange(manifest_, std::nullopt)), pending_.push_back(take());
    std::vector<Manifest> manifests;
    for (std::size_t i = 0; i < done_.size(); ++i) {
      resolve(*done_[i], pending_[i]);
      manifests.push_back(std::move(*done_[i]));
    }
    return manifests;
  }

 private:
  struct Data {
    FieldSpec spec{};
    std::string map{};
    bool valid = true;
    std::vector<Data> members{};
  };
  struct Map {
    std::string name{};
    bool flags = false;
    std::vector<std::pair<std::uint64_t, std::string>> values{};
  };
  struct Pending {
    std::map<std::string, std::vector<Data>> templates{};
    std::map<std::string, std::uint8_t> opcodes{};
    std::vector<Map> maps{};
    std::vector<XmlTag> events{};
  };

  Pending take() {
    map_ = nullptr;
    open_structs_.clear();
    Pending pending{std::move(templates_), std::move(opcodes_), {}, std::move(events_)};
    for (auto& map : maps_) pending.maps.push_back(std::move(map));
    templates_.clear(), opcodes_.clear(), maps_.clear(), events_.clear();
    return pending;
  }

  void open_struct(const XmlTag& tag) {
    if (open_structs_.size() > 8) return;
    auto& data = open_structs_.back()->emplace_back();
    data.spec.name = tag.attribute("name");
    data.spec.wire = Wire::kObject;
    set_count(data, tag.attribute("count"));
    open_structs_.push_back(&data.members);
  }

  void add_data(const XmlTag& tag) {
    Data data;
    data.spec.name = tag.attribute("name");
    const auto type = tag.attribute("inType");
    data.spec.wire = wire_of(type, pointer_size_);
    data.valid = data.spec.wire != Wire::kDecimal;
    data.spec.hex = data.spec.wire == Wire::kUInt64;
    data.map = tag.attribute("map");
    auto count = tag.attribute("count");
    if (count.empty()) count = tag.attribute("length");
    set_count(data, count);
    if (type == "win:Binary" && count.empty()) data.valid = false;
    open_structs_.back()->push_back(std::move(data));
  }

  static void set_count(Data& data, const std::string& count) {
    if (count.empty()) return;
    data.spec.counted = Counted::kByField;
    if (count.front() >= '0' && count.front() <= '9') {
      data.spec.counted = Counted::kFixed;
      data.spec.fixed_count =
          static_cast<std::uint16_t>(std::min<std::uint64_t>(number(count), 0xffff));
    } else {
      data.spec.refers_to = count;
    }
  }

  std::string text(std::string_view reference) const {
    if (reference.starts_with("$(string.") && reference.ends_with(')')) {
      const auto found = strings_.find(std::string{reference.substr(9, reference.size() - 10)});
      if (found != strings_.end()) return found->second;
    }
    return std::string{reference};
  }

  using Names = std::map<std::string_view, const ValueNames*>;

  static bool specs(const Names& names, const std::vector<Data>& fields, std::size_t& left,
                    std::vector<FieldSpec>& out) {
    for (const auto& data : fields) {
      if (!data.valid || left == 0) return false;
      --left;
      auto spec = data.spec;
      if (const auto found = names.find(data.map); found != names.end()) spec.names = found->second;
      if (!specs(names, data.members, left, spec.children)) return false;
      if (spec.counted != Counted::kNot) {
        auto element = spec;
        element.name.clear(), element.refers_to.clear();
        element.counted = Counted::kNot;
        auto array = array_of(spec.name, std::move(element), spec.counted);
        array.fixed_count = spec.fixed_count;
        array.refers_to = spec.refers_to;
        spec = std::move(array);
      }
      out.push_back(std::move(spec));
    }
    return true;
  }

  void resolve(Manifest& manifest, const Pending& pending) const {
    const auto keep = [&](std::string kept) -> std::string_view {
      return *manifest.texts.emplace_back(std::make_unique<std::string>(std::move(kept)));
    };
    Names by_name;
    std::size_t left = kMostFields;
    for (const auto& map : pending.maps) {
      auto& names = *manifest.names.emplace_back(std::make_unique<ValueNames>());
      names.name = keep(map.name);
      names.flags = map.flags;
      for (const auto& [value, message] : map.values)
        names.values.push_back({keep(text(message)), static_cast<std::int64_t>(value)});
      std::stable_sort(names.values.begin(), names.values.end(),
                       [](const auto& a, const auto& b) { return a.value < b.value; });
      by_name.emplace(names.name, &names);
    }
    for (const auto& tag : pending.events) {
      ManifestEvent event{.id = static_cast<std::uint32_t>(number(tag.attribute("value"))),
                          .version = static_cast<std::uint32_t>(number(tag.attribute("version"))),
                          .level = level_of(tag.attribute("level")),
                          .name = tag.attribute("symbol")};
      const auto opcode = tag.attribute("opcode");
      if (opcode == "win:Start") event.opcode = 1;
      if (opcode == "win:Stop") event.opcode = 2;
      if (const auto own = pending.opcodes.find(opcode); own != pending.opcodes.end())
        event.opcode = own->second;
      const auto wanted = " " + tag.attribute("keywords") + " ";
      for (const auto& [name, mask] : manifest.keywords)
        if (wanted.find(" " + name + " ") != std::string::npos) event.keywords |= mask;
      const auto layout = pending.templates.find(tag.attribute("template"));
      if (layout != pending.templates.end() && !specs(by_name, layout->second, left, event.fields))
        event.fields.clear();
      manifest.events.push_back(std::move(event));
    }
  }

  std::uint32_t pointer_size_;
  std::optional<Manifest> manifest_;
  std::map<std::string, std::string> strings_;
  std::map<std::string, std::vector<Data>> templates_;
  std::map<std::string, std::uint8_t> opcodes_;
  std::vector<Map> maps_;
  Map* map_ = nullptr;
  std::vector<XmlTag> events_;
  std::vector<std::vector<Data>*> open_structs_;
  std::vector<std::optional<Manifest>> done_;
  std::vector<Pending> pending_;
};

}  // namespace

std::vector<Manifest> parse_manifest(std::string_view xml, std::uint32_t pointer_size) {
  Collector collector{pointer_size};
  XmlScanner scanner{xml};
  XmlTag tag;
  while (scanner.next(tag)) {
    if (!tag.closing) collector.open(tag);
    if (tag.closing || tag.empty) collector.close(tag.local_name());
  }
  return collector.finish();
}

bool ManifestSet::add(std::string_view provider, Bytes payload) {
  ByteReader in{payload};
  const auto format = in.read<std::uint8_t>();
  in.skip(2);  // version of the envelope
  const auto magic = in.read<std::uint8_t>();
  const auto total = in.read<std::uint16_t>();
  const auto index = in.read<std::uint16_t>();
  if (!in.ok() || format != 1 || magic != 0x5b || index >= total) return false;
  if (incomplete_.size() >= kMostProviders) return false;
  auto& pieces = incomplete_[std::string{provider}];
  if (index == 0 || pieces.total != total) pieces = {.total = total};
  const auto text = as_text(in.rest());
  pieces.bytes += text.size();
  if (pieces.bytes > kLargest) {
    incomplete_.erase(std::string{provider});
    return false;
  }
  pieces.pieces[index] = text;
  if (pieces.pieces.size() < total) return true;
  std::string whole;
  for (const auto& [_, piece] : pieces.pieces) whole += piece;
  incomplete_.erase(std::string{provider});
  for (auto& manifest : parse_manifest(whole, pointer_size_)) {
    const auto name = manifest.provider.empty() ? std::string{provider} : manifest.provider;
    // The first stays, since plans point into it; later ones say the same.
    if (manifests_.size() < kMostProviders && !manifests_.contains(name))
      manifests_[name] = std::make_unique<Manifest>(std::move(manifest));
  }
  return true;
}

const Manifest* ManifestSet::of(std::string_view provider) const {
  const auto found = manifests_.find(provider);
  return found == manifests_.end() ? nullptr : found->second.get();
}

const ManifestEvent* ManifestSet::find(const EventType& type) const {
  const auto* manifest = of(type.provider);
  if (manifest == nullptr) return nullptr;
  const ManifestEvent* best = nullptr;
  for (const auto& event : manifest->events) {
    if (event.id != type.id) continue;
    if (event.version == type.version) return &event;
    best = &event;
  }
  return best;
}

}  // namespace clrscope::nettrace
