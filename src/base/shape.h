// The shape of an answer, said once: what its members are called, in which unit they are and what
// they mean. From it come its JSON, its JSON schema and the titles of its columns.
//
//   struct Pause {
//     std::uint64_t number = 0;
//     std::chrono::nanoseconds length{};
//   };
//   const Shape& shape_of(const Pause*) {  // in the .cpp
//     static const auto shape = describe<Pause>("Pause", "a time when no thread ran",
//         {member<&Pause::number>("number", "of the collection"),
//          member<&Pause::length>("lengthMs", "how long")});
//     return shape;
//   }
//   write_json(json, pause);  // {"number":7,"lengthMs":1.25}
//
// Members are numbers, truths, texts, times, ids, enumerations with names, optional ones (left out
// when empty), ones that may be null (OrNull), lists, maps by text, JSON written before, and other
// described types. Durations are milliseconds, or seconds where they are duration<double>.
//
// member_unless_empty<>() leaves a text, list or number out when it is empty or 0;
// member_or_null<>() writes null instead; members_of<>() puts the members of a described struct
// among those of the one that holds it.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"

namespace clrscope {

enum class Unit : std::uint8_t { kNone, kMs, kSeconds, kBytes, kPercent, kPerSecond };

class Shape;

// How values of one type are written, and what a schema says of them.
struct ValueShape {
  enum class Kind : std::uint8_t {
    kTruth,
    kWhole,
    kNumber,
    kText,
    kTime,
    kChoice,
    kList,
    kMap,
    kObject,
    kAny,          // JSON that was written elsewhere
    kAlternatives  // one of several
  };
  Kind kind;
  bool optional = false;                // may be left out
  bool nullable = false;                // null when empty
  bool finite = false;                  // of numbers: never null
  Unit unit = Unit::kNone;              // of its own: of durations
  const ValueShape* element = nullptr;  // of lists and maps
  const Shape& (*object)() = nullptr;   // of objects; or
  const Shape* shape = nullptr;         // where it is known only when the program runs
  std::span<const ValueShape> (*alternatives)() = nullptr;
  std::span<const std::string_view> (*choices)() = nullptr;
  bool (*absent)(const void*) = nullptr;  // of optional ones
  void (*write)(JsonWriter&, const void*);
};

struct Member {
  std::string_view name;  // empty: the members of this object are members of ours
  std::string_view meaning;
  Unit unit;
  const ValueShape* value;
  const void* (*at)(const void* object);
};

class Shape {
 public:
  Shape(std::string_view name, std::string_view meaning, std::vector<Member> members)
      : name_(name), meaning_(meaning), members_(std::move(members)) {}

  std::string_view name() const { return name_; }  // unique among all: the schema's
  std::string_view meaning() const { return meaning_; }
  std::span<const Member> members() const { return members_; }

  void write(JsonWriter& json, const void* object) const;          // {…}
  void write_members(JsonWriter& json, const void* object) const;  // … alone

 private:
  std::string_view name_;
  std::string_view meaning_;
  std::vector<Member> members_;
};

// All members as they are written: those of included structs in their place.
std::vector<const Member*> written_members(const Shape& shape);

// The JSON schema of one shape; others are referred to by `references` and their names.
void write_schema(JsonWriter& json, const Shape& shape, std::string_view references);
// With all that it refers to.
void gather_shapes(const Shape& shape, std::map<std::string_view, const Shape*>& all);
// The same for any value; the schema without its braces.
void write_value_schema(JsonWriter& json, const ValueShape& value, std::string_view references);
void gather_shapes(const ValueShape& value, std::map<std::string_view, const Shape*>& all);

// JSON that was written before, such as a report read from a file. Written as it is. In the shape
// of what has a writer of its own it stands for any value.
struct RawJson {
  std::string text{};
};
// The same where its type is known.
template <class T>
struct RawJsonOf {
  std::string text{};
};

template <class T>
concept Described = requires(const T* value) {
  { shape_of(value) } -> std::same_as<const Shape&>;
};
// An enumeration from 0 on: std::span<const std::string_view> names_of(E) gives all names.
template <class T>
concept Named = std::is_enum_v<T> && requires(T value) {
  { names_of(value) } -> std::convertible_to<std::span<const std::string_view>>;
};

template <Described T>
const Shape& shape_for() {
  return shape_of(static_cast<const T*>(nullptr));
}

template <Named T>
std::string_view name_of(T value) {
  const std::span<const std::string_view> names{names_of(value)};
  const auto at = static_cast<std::size_t>(value);
  return at < names.size() ? names[at] : std::string_view{"unknown"};
}

// The value of that name; nothing when none has it.
template <Named T>
std::optional<T> value_named(std::string_view name) {
  const std::span<const std::string_view> names{names_of(T{})};
  for (std::size_t at = 0; at < names.size(); ++at)
    if (names[at] == name) return static_cast<T>(at);
  return std::nullopt;
}

// A member that is always there, and null while its value is not known.
template <class T>
struct OrNull {
  std::optional<T> value{};
  OrNull() = default;
  OrNull(T one) : value(std::move(one)) {}  // NOLINT(google-explicit-constructor): is one
  OrNull(std::optional<T> one)
      : value(std::move(one)) {}  // NOLINT(google-explicit-constructor): is one
};

template <class T>
const ValueShape& value_shape();

namespace shape_detail {

using Kind = ValueShape::Kind;

template <class T>
const T& as(const void* value) {
  return *static_cast<const T*>(value);
}

template <class T>
struct Of;

template <>
struct Of<bool> {
  static constexpr ValueShape make() {
    return {.kind = Kind::kTruth,
            .write = [](JsonWriter& json, const void* value) { json.value(as<bool>(value)); }};
  }
};

template <class T>
requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) struct Of<T> {
  static constexpr ValueShape make() {
    return {.kind = std::is_integral_v<T> ? Kind::kWhole : Kind::kNumber,
            .write = [](JsonWriter& json, const void* value) { json.value(as<T>(value)); }};
  }
};

template <class T>
requires(std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) struct Of<T> {
  static constexpr ValueShape make() {
    return {.kind = Kind::kText, .write = [](JsonWriter& json, const void* value) {
              json.value(std::string_view{as<T>(value)});
            }};
  }
};

template <>
struct Of<std::chrono::nanoseconds> {
  static constexpr ValueShape make() {
    return {
        .kind = Kind::kNumber,
        .finite = true,
        .unit = Unit::kMs,
        .write = [](JsonWriter& json, const void* v) {
          json.value(
              std::chrono::duration<double, std::milli>{as<std::chrono::nanoseconds>(v)}.count());
        }};
  }
};

template <>
struct Of<std::chrono::milliseconds> {
  static constexpr ValueShape make() {
    return {.kind = Kind::kWhole, .unit = Unit::kMs, .write = [](JsonWriter& json, const void* v) {
              json.value(as<std::chrono::milliseconds>(v).count());
            }};
  }
};

using Seconds = std::chrono::duration<double>;
template <>
struct Of<Seconds> {
  static constexpr ValueShape make() {
    return {.kind = Kind::kNumber,
            .finite = true,
            .unit = Unit::kSeconds,
            .write = [](JsonWriter& json, const void* v) { json.value(as<Seconds>(v).count()); }};
  }
};

// Ids.
template <class T>
requires(std::is_enum_v<T> && !Named<T>) struct Of<T> {
  static constexpr ValueShape make() {
    return {.kind = Kind::kWhole, .write = [](JsonWriter& json, const void* value) {
              json.value(static_cast<std::underlying_type_t<T>>(as<T>(value)));
            }};
  }
};

template <>
struct Of<RawJson> {
  static constexpr ValueShape make() {
    return {.kind = Kind::kAny, .write = [](JsonWriter& json, const void* value) {
              json.raw(as<RawJson>(value).text);
            }};
  }
};

template <class T>
struct Of<RawJsonOf<T>> {
  static ValueShape make() {
    auto shape = value_shape<T>();
    shape.write = [](JsonWriter& json, const void* value) {
      json.raw(as<RawJsonOf<T>>(value).text);
    };
    return shape;
  }
};

template <>
struct Of<WallTime> {
  static constexpr ValueShape make() {
    return {.kind = Kind::kTime, .write = [](JsonWriter& json, const void* value) {
              json.value(iso8601(as<WallTime>(value)));
            }};
  }
};

template <Named T>
struct Of<T> {
  static constexpr ValueShape make() {
    return {.kind = Kind::kChoice,
            .choices = [] { return std::span<const std::string_view>{names_of(T{})}; },
            .write = [](JsonWriter& json,
                        const void* value) { json.value(clrscope::name_of(as<T>(value))); }};
  }
};

template <Described T>
struct Of<T> {
  static constexpr ValueShape make() {
    return {
        .kind = Kind::kObject,
        .object = shape_for<T>,
        .write = [](JsonWriter& json, const void* value) { shape_for<T>().write(json, value); }};
  }
};

template <class T>
struct Of<std::optional<T>> {
  static ValueShape make() {
    auto shape = value_shape<T>();
    shape.optional = true;
    shape.absent = [](const void* value) { return !as<std::optional<T>>(value).has_value(); };
    shape.write = [](JsonWriter& json, const void* value) {
      const auto& one = as<std::optional<T>>(value);
      if (one)
        value_shape<T>().write(json, &*one);
      else
        json.null();
    };
    return shape;
  }
};

template <class T>
struct Of<OrNull<T>> {
  static ValueShape make() {
    auto shape = value_shape<T>();
    shape.nullable = true;
    shape.write = [](JsonWriter& json, const void* value) {
      value_shape<std::optional<T>>().write(json, &as<OrNull<T>>(value).value);
    };
    return shape;
  }
};

template <class T>
struct Of<std::vector<T>> {
  static ValueShape make() {
    return {.kind = Kind::kList,
            .element = &value_shape<T>(),
            .write = [](JsonWriter& json, const void* value) {
              json.begin_array();
              for (const auto& one : as<std::vector<T>>(value)) value_shape<T>().write(json, &one);
              json.end_array();
            }};
  }
};

// Names and values, in their order.
template <class T>
struct Of<std::vector<std::pair<std::string, T>>> {
  static ValueShape make() {
    return {.kind = Kind::kMap,
            .element = &value_shape<T>(),
            .write = [](JsonWriter& json, const void* value) {
              json.begin_object();
              for (const auto& [key, one] : as<std::vector<std::pair<std::string, T>>>(value)) {
                json.key(key);
                value_shape<T>().write(json, &one);
              }
              json.end_object();
            }};
  }
};

template <class T>
struct Of<std::map<std::string, T>> {
  static ValueShape make() {
    return {.kind = Kind::kMap,
            .element = &value_shape<T>(),
            .write = [](JsonWriter& json, const void* value) {
              json.begin_object();
              for (const auto& [key, one] : as<std::map<std::string, T>>(value)) {
                json.key(key);
                value_shape<T>().write(json, &one);
              }
              json.end_object();
            }};
  }
};

template <class>
struct Pointed;
template <class Owner, class T>
struct Pointed<T Owner::*> {
  using Object = Owner;
  using Value = T;
};

}  // namespace shape_detail

template <class T>
const ValueShape& value_shape() {
  static const ValueShape shape = shape_detail::Of<T>::make();
  return shape;
}

template <auto Pointer>
Member member(std::string_view name, Unit unit, std::string_view meaning) {
  using Of = shape_detail::Pointed<decltype(Pointer)>;
  return {name, meaning, unit, &value_shape<typename Of::Value>(), [](const void* object) {
            return static_cast<const void*>(
                &(static_cast<const typename Of::Object*>(object)->*Pointer));
          }};
}
template <auto Pointer>
Member member(std::string_view name, std::string_view meaning) {
  return member<Pointer>(name, Unit::kNone, meaning);
}

namespace shape_detail {

template <class T>
bool is_empty(const void* value) {
  if constexpr (requires { as<T>(value).has_value(); })
    return !as<T>(value).has_value();
  else if constexpr (requires { as<T>(value).empty(); })
    return as<T>(value).empty();
  else
    return as<T>(value) == T{};
}

template <class T>
const ValueShape& value_unless_empty() {
  static const auto shape = [] {
    auto made = value_shape<T>();
    made.optional = true;
    made.absent = is_empty<T>;
    return made;
  }();
  return shape;
}

template <class T>
const ValueShape& value_or_null() {
  static const auto shape = [] {
    auto made = value_shape<T>();
    made.optional = false;
    made.nullable = true;
    made.absent = nullptr;
    made.write = [](JsonWriter& json, const void* value) {
      if (is_empty<T>(value))
        json.null();
      else
        value_shape<T>().write(json, value);
    };
    return made;
  }();
  return shape;
}

}  // namespace shape_detail

// A text, list, map or number that is left out when it is empty or 0.
template <auto Pointer>
Member member_unless_empty(std::string_view name, Unit unit, std::string_view meaning) {
  auto made = member<Pointer>(name, unit, meaning);
  made.value =
      &shape_detail::value_unless_empty<typename shape_detail::Pointed<decltype(Pointer)>::Value>();
  return made;
}
template <auto Pointer>
Member member_unless_empty(std::string_view name, std::string_view meaning) {
  return member_unless_empty<Pointer>(name, Unit::kNone, meaning);
}
// A text, list, map or optional value that is null when it is empty.
template <auto Pointer>
Member member_or_null(std::string_view name, std::string_view meaning) {
  auto made = member<Pointer>(name, meaning);
  made.value =
      &shape_detail::value_or_null<typename shape_detail::Pointed<decltype(Pointer)>::Value>();
  return made;
}
// The members of a described member, as members of the object that has it.
template <auto Pointer>
Member members_of() {
  static_assert(Described<typename shape_detail::Pointed<decltype(Pointer)>::Value>);
  return member<Pointer>({}, {});
}

// The members of a described base.
template <class T, Described Base>
requires(std::is_base_of_v<Base, T>) Member inherited() {
  return {
      {}, {}, Unit::kNone, &value_shape<Base>(), [](const void* object) {
        return static_cast<const void*>(static_cast<const Base*>(static_cast<const T*>(object)));
      }};
}

// A member of a member that is not shown as an object of its own.
template <auto Outer, auto Inner>
Member member_in(std::string_view name, Unit unit, std::string_view meaning) {
  using In = shape_detail::Pointed<decltype(Inner)>;
  using Out = shape_detail::Pointed<decltype(Outer)>;
  return {name, meaning, unit, &value_shape<typename In::Value>(), [](const void* object) {
            return static_cast<const void*>(
                &(static_cast<const typename Out::Object*>(object)->*Outer.*Inner));
          }};
}
template <auto Outer, auto Inner>
Member member_in(std::string_view name, std::string_view meaning) {
  return member_in<Outer, Inner>(name, Unit::kNone, meaning);
}

template <class T>
Shape describe(std::string_view name, std::string_view meaning, std::vector<Member> members) {
  return {name, meaning, std::move(members)};
}

template <Described T>
void write_json(JsonWriter& json, const T& value) {
  shape_of(&value).write(json, &value);
}
// One line of any value that has a shape, lists and maps too; without a line end.
template <class T>
std::string json_text(const T& value) {
  JsonWriter json;
  value_shape<T>().write(json, &value);
  return std::move(json).take();
}
// The same with a line end.
template <class T>
std::string json_line(const T& value) {
  return json_text(value) + '\n';
}
// The members alone: who writes more opens and closes the object.
template <Described T>
void write_members(JsonWriter& json, const T& value) {
  shape_of(&value).write_members(json, &value);
}

// A text that is left out when it is empty.
inline std::optional<std::string> unless_empty(std::string text) {
  if (text.empty()) return std::nullopt;
  return text;
}

}  // namespace clrscope
