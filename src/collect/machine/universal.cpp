#include "collect/machine/universal.h"

#include <algorithm>

#include "base/json.h"
#include "model/provider_names.h"

namespace clrscope::collect {
namespace {

constexpr std::string_view kCpu = "cpu";
constexpr std::string_view kSwitch = "cswitch";
constexpr std::uint32_t kIlMap = 1;        // of kSymbolsProvider
constexpr std::uint32_t kImageSymbol = 4;  // likewise; as kProcessSymbol
constexpr std::uint32_t kNoProcessor = 0xffffffff;

enum SystemEvent : std::uint32_t {
  kExistingProcess = 0,
  kProcessCreate = 1,
  kProcessExit = 2,
  kProcessMapping = 3,
  kProcessSymbol = 4,
  kMappingMetadata = 5,
};

Field offsets(std::string name) {
  return {.name = std::move(name),
          .type = TypeCode::kArray,
          .children = {{.name = "", .type = TypeCode::kUInt32}}};
}

Field number(std::string name) { return {.name = std::move(name), .type = TypeCode::kVarUInt}; }

// A count and so many bytes of UTF-8.
Field text(std::string name) {
  return {.name = std::move(name),
          .type = TypeCode::kArray,
          .children = {{.name = "", .type = TypeCode::kUtf8Unit}}};
}

struct SystemType {
  const char* name;
  std::vector<Field> fields;
};

// In the order of their ids.
std::vector<SystemType> system_types() {
  return {
      {"ExistingProcess", {number("NamespaceId"), text("Name"), text("NamespaceName")}},
      {"ProcessCreate", {number("NamespaceId"), text("Name"), text("NamespaceName")}},
      {"ProcessExit", {}},
      {"ProcessMapping",
       {number("Id"), number("StartAddress"), number("EndAddress"), number("FileOffset"),
        text("FileName"), number("MetadataId")}},
      {"ProcessSymbol",
       {number("Id"), number("MappingId"), number("StartAddress"), number("EndAddress"),
        text("Name")}},
      {"ProcessMappingMetadata", {number("Id"), text("SymbolMetadata"), text("VersionMetadata")}},
  };
}

void put_text(ByteWriter& out, std::string_view value) {
  value = value.substr(0, 0xffff);
  out.write(static_cast<std::uint16_t>(value.size()));
  out.put(value);
}

void put_symbol(ByteWriter& out, std::uint64_t id, MappingId mapping, std::uint64_t first,
                std::uint64_t last, std::string_view name) {
  out.write_varuint(id);
  out.write_varuint(static_cast<std::uint64_t>(mapping));
  out.write_varuint(first);
  out.write_varuint(last);
  put_text(out, name);
}

Who process_only(ProcessId process) {
  return {process, ThreadId{static_cast<std::uint64_t>(process)}};
}

}  // namespace

UniversalWriter::UniversalWriter(nettrace::Writer& writer)
    : writer_(writer), source_(writer.add_source(nettrace::Writer::Numbering::kNone)) {
  for (auto& described : system_types()) {
    auto type = std::make_unique<EventType>();
    type->index = static_cast<std::uint32_t>(types_.size());
    type->id = type->index;
    type->provider = kUniversalSystemProvider;
    type->name = described.name;
    type->level = 4;
    type->fields = std::move(described.fields);
    types_.push_back(std::move(type));
  }
}

Result<> UniversalWriter::write(const EventType& type, TraceTime time, const Who& who,
                                Bytes payload, std::span<const std::uint64_t> stack) {
  // The rings of the CPUs are read one after the other: each is a capture thread of its own. What
  // no CPU tells is another.
  if (who.processor == kNoProcessor) time = newest_system_ = std::max(newest_system_, time);
  const Event event{.type = &type,
                    .time = time,
                    .ticks = time.time_since_epoch().count(),
                    .thread = who.thread,
                    .capture_thread = who.processor,
                    .payload = payload,
                    .process = who.process,
                    .processor = who.processor};
  if (stopping_ && !stop_found_) stop_found_ = stopping_->is(event, sizeof(void*));
  const Bytes frames{reinterpret_cast<const std::uint8_t*>(stack.data()), stack.size_bytes()};
  return writer_.write(source_, event, StackView{frames, sizeof(std::uint64_t)});
}

Result<> UniversalWriter::process_exists(TraceTime time, ProcessId process, std::string_view name,
                                         std::string_view container) {
  ByteWriter payload;
  payload.write_varuint(static_cast<std::uint64_t>(process));
  put_text(payload, name);
  put_text(payload, container);
  return write(*types_[kExistingProcess], time, process_only(process), payload.bytes(), {});
}

Result<> UniversalWriter::process_created(TraceTime time, ProcessId process, std::string_view name,
                                          std::string_view container) {
  ByteWriter payload;
  payload.write_varuint(static_cast<std::uint64_t>(process));
  put_text(payload, name);
  put_text(payload, container);
  return write(*types_[kProcessCreate], time, process_only(process), payload.bytes(), {});
}

Result<> UniversalWriter::process_exited(TraceTime time, ProcessId process) {
  return write(*types_[kProcessExit], time, process_only(process), {}, {});
}

Result<MappingId> UniversalWriter::mapping(TraceTime time, ProcessId process,
                                           const MappedRange& range, std::string_view build_id) {
  std::uint64_t metadata = 0;
  if (!build_id.empty()) {
    metadata = next_metadata_++;
    JsonWriter json;
    json.begin_object().member("type", "ELF").member("build_id", build_id).end_object();
    ByteWriter payload;
    payload.write_varuint(metadata);
    put_text(payload, json.text());
    put_text(payload, "");
    TRY(write(*types_[kMappingMetadata], time, process_only(process), payload.bytes(), {}));
  }
  const auto id = next_mapping_++;
  ByteWriter payload;
  payload.write_varuint(id);
  payload.write_varuint(range.start);
  payload.write_varuint(range.end);
  payload.write_varuint(range.file_offset);
  put_text(payload, range.path);
  payload.write_varuint(metadata);
  TRY(write(*types_[kProcessMapping], time, process_only(process), payload.bytes(), {}));
  return MappingId{id};
}

Result<> UniversalWriter::symbol(TraceTime time, ProcessId process, MappingId mapping,
                                 std::uint64_t first, std::uint64_t last, std::string_view name) {
  ByteWriter payload;
  put_symbol(payload, next_symbol_++, mapping, first, last, name);
  return write(*types_[kProcessSymbol], time, process_only(process), payload.bytes(), {});
}

Result<> UniversalWriter::image_symbol(TraceTime time, ProcessId process, MappingId mapping,
                                       std::uint64_t first, std::uint64_t last,
                                       std::string_view name) {
  if (!image_symbol_type_)
    image_symbol_type_ = &add_type({.provider = std::string{kSymbolsProvider},
                                    .name = "ImageSymbol",
                                    .id = kImageSymbol,
                                    .level = 4,
                                    .fields = types_[kProcessSymbol]->fields});
  ByteWriter payload;
  put_symbol(payload, next_symbol_++, mapping, first, last, name);
  return write(*image_symbol_type_, time, process_only(process), payload.bytes(), {});
}

Result<> UniversalWriter::il_map(TraceTime time, ProcessId process, std::uint64_t start,
                                 const IlMap& map) {
  constexpr std::size_t kMost = 0xffff;
  const auto& entries = map.entries();
  if (entries.size() > kMost) return {};  // then the image itself is asked
  if (!il_map_type_)
    il_map_type_ = &add_type(
        {.provider = std::string{kSymbolsProvider},
         .name = "IlMap",
         .id = kIlMap,
         .level = 4,
         .fields = {number("StartAddress"), offsets("IlOffsets"), offsets("NativeOffsets")}});
  ByteWriter payload;
  payload.write_varuint(start);
  payload.write(static_cast<std::uint16_t>(entries.size()));
  for (const auto& entry : entries) payload.write(entry.il);
  payload.write(static_cast<std::uint16_t>(entries.size()));
  for (const auto& entry : entries) payload.write(entry.native);
  return write(*il_map_type_, time, process_only(process), payload.bytes(), {});
}

const EventType& UniversalWriter::sample_type(std::string_view name) {
  if (const auto known = sample_types_.find(name); known != sample_types_.end())
    return *known->second;
  auto type = std::make_unique<EventType>();
  type->index = static_cast<std::uint32_t>(types_.size());
  type->id = static_cast<std::uint32_t>(sample_types_.size());
  type->provider = kUniversalEventsProvider;
  type->name = name;
  type->level = 4;
  type->fields = {number("Value")};
  if (name == kSwitch) {
    type->fields.push_back(number("Preempted"));
    type->fields.push_back(number("Unfinished"));
  }
  if (name == kCpu) type->fields.push_back(number("Period"));
  types_.push_back(std::move(type));
  sample_types_.emplace(name, types_.back().get());
  return *types_.back();
}

Result<> UniversalWriter::cpu_sample(TraceTime time, const Who& who, std::uint64_t ns,
                                     std::span<const std::uint64_t> stack) {
  ByteWriter payload;
  payload.write_varuint(1);
  payload.write_varuint(ns);
  return write(sample_type(kCpu), time, who, payload.bytes(), stack);
}

Result<> UniversalWriter::sample(std::string_view name, TraceTime time, const Who& who,
                                 std::uint64_t value, std::span<const std::uint64_t> stack) {
  ByteWriter payload;
  payload.write_varuint(value);
  return write(sample_type(name), time, who, payload.bytes(), stack);
}

Result<> UniversalWriter::waited(TraceTime time, const Who& who, const Wait& wait,
                                 std::span<const std::uint64_t> stack) {
  ByteWriter payload;
  payload.write_varuint(wait.ns);
  payload.write_varuint(wait.preempted ? 1 : 0);
  payload.write_varuint(wait.unfinished ? 1 : 0);
  return write(sample_type(kSwitch), time, who, payload.bytes(), stack);
}

Result<> UniversalWriter::told(std::string_view name, TraceTime time, ProcessId process,
                               std::uint64_t value) {
  return sample(name, time, process_only(process), value, {});
}

const EventType& UniversalWriter::add_type(EventType type) {
  type.index = static_cast<std::uint32_t>(types_.size());
  types_.push_back(std::make_unique<EventType>(std::move(type)));
  return *types_.back();
}

void UniversalWriter::add_lost(std::uint64_t count) { writer_.add_lost(source_, count); }

}  // namespace clrscope::collect
