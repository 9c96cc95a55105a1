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
// Members are numbers, truths, texts, times, enumerations with names, optional ones (left out when
// empty), lists, maps by text, and other described types. Durations are milliseconds.
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
#include <vector>

#include "base/clock.h"
#include "base/json.h"

namespace clrscope {

enum class Unit : std::uint8_t { kNone, kMs, kBytes, kPercent, kPerSecond };

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
    kObject
  };
  Kind kind;
  bool optional = false;
  Unit unit = Unit::kNone;              // of its own: of durations
  const ValueShape* element = nullptr;  // of lists and maps
  const Shape& (*object)() = nullptr;   // of objects
  std::span<const std::string_view> (*choices)() = nullptr;
  bool (*absent)(const void*) = nullptr;  // of optional ones
  void (*write)(JsonWriter&, const void*);
};

struct Member {
  std::string_view name;
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

// The JSON schema of one shape; others are referred to by `references` and their names.
void write_schema(JsonWriter& json, const Shape& shape, std::string_view references);
// With all that it refers to.
void gather_shapes(const Shape& shape, std::map<std::string_view, const Shape*>& all);

template <class T>
concept Described = requires(const T* value) {
  { shape_of(value) } -> std::same_as<const Shape&>;
};
// An enumeration from 0 on: std::span<const std::string_view> names_of(E) gives all names.
template <class T>
concept Named = std::is_enum_v<T> && requires(T value) {
  { names_of(value) } -> std::convertible_to<std::span<const std::string_view>>;
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
        .kind = Kind::kNumber, .unit = Unit::kMs, .write = [](JsonWriter& json, const void* v) {
          json.value(
              std::chrono::duration<double, std::milli>{as<std::chrono::nanoseconds>(v)}.count());
        }};
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
            .write =
                [](JsonWriter& json, const void* value) {
                  const std::span<const std::string_view> names{names_of(T{})};
                  const auto at = static_cast<std::size_t>(as<T>(value));
                  json.value(at < names.size() ? names[at] : std::string_view{"unknown"});
                }};
  }
};

template <Described T>
struct Of<T> {
  static constexpr ValueShape make() {
    return {.kind = Kind::kObject,
            .object = []() -> const Shape& { return shape_of(static_cast<const T*>(nullptr)); },
            .write =
                [](JsonWriter& json, const void* value) {
                  shape_of(static_cast<const T*>(nullptr)).write(json, value);
                }};
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

template <class T>
Shape describe(std::string_view name, std::string_view meaning, std::vector<Member> members) {
  return {name, meaning, std::move(members)};
}

template <Described T>
void write_json(JsonWriter& json, const T& value) {
  shape_of(&value).write(json, &value);
}
// The members alone: who writes more opens and closes the object.
template <Described T>
void write_members(JsonWriter& json, const T& value) {
  shape_of(&value).write_members(json, &value);
}

}  // namespace clrscope
