#include <algorithm>
#include <cmath>
#include <utility>

#include "base/json.h"
#include "nettrace/payload_print.h"
#include "nettrace/payload_text.h"

namespace clrscope::nettrace {
namespace {

// UTF-16 as a JSON string; written in place, and once more if something in it needs an escape.
void append_json_text(std::string& out, Bytes utf16) {
  const auto start = out.size();
  out.push_back('"');
  append_utf8(out, utf16);
  const std::string_view written = std::string_view{out}.substr(start + 1);
  const bool plain = std::all_of(written.begin(), written.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' &&
           c != '&' && c != '\'' && c != 0x7f;
  });
  if (plain) {
    out.push_back('"');
    return;
  }
  const std::string text{written};
  out.resize(start);
  append_json_string(out, text);
}

bool append_quoted_name(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                        const Value& value) {
  const auto start = out.size();
  out.push_back('"');
  if (append_name(out, plan, field, value)) {
    // Names from a manifest may hold anything.
    if (plan.schema() == Schema::kManifest) {
      const auto name = out.substr(start + 1);
      out.resize(start);
      append_json_string(out, name);
    } else {
      out.push_back('"');
    }
    return true;
  }
  out.resize(start);
  return false;
}

}  // namespace

void append_json(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                 const Value& value) {
  const char* separator = "";
  switch (value.kind) {
    case Kind::kInt:
    case Kind::kUInt:
      if (field.names != nullptr && append_quoted_name(out, plan, field, value)) break;
      if (field.hex) {
        out += "\"0x";
        append_integer(out, value.u, 16);
        out.push_back('"');
      } else if (value.kind == Kind::kInt) {
        append_integer(out, value.i);
      } else {
        append_integer(out, value.u);
      }
      break;
    case Kind::kBool:
      out += value.u != 0 ? "true" : "false";
      break;
    case Kind::kFloat:
    case Kind::kDouble:
      if (std::isfinite(value.f))
        value.kind == Kind::kFloat ? print(out, "{}", static_cast<float>(value.f))
                                   : print(out, "{}", value.f);
      else
        out += "null";
      break;
    case Kind::kTime: {
      const auto t = calendar(value.i);
      print(out, "\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:07}Z\"", t.year, t.month, t.day, t.hour,
            t.minute, t.second, t.ticks);
      break;
    }
    case Kind::kBytes:
      out.push_back('"');
      append_hex(out, value.bytes);
      out.push_back('"');
      break;
    case Kind::kObject:
      out.push_back('{');
      for_each_member(plan, field, value, [&](const PayloadField& member, const Value& inner) {
        out += std::exchange(separator, ",");
        out += member.json_key;
        append_json(out, plan, member, inner);
      });
      out.push_back('}');
      break;
    case Kind::kArray:
      out.push_back('[');
      for_each_element(plan, field, value, [&](const PayloadField& element, const Value& inner) {
        out += std::exchange(separator, ",");
        append_json(out, plan, element, inner);
      });
      out.push_back(']');
      break;
    case Kind::kText8:
      append_json_string(out, as_text(value.bytes));
      break;
    case Kind::kText16:
      append_json_text(out, value.bytes);
      break;
    default: {
      std::string text;
      append_scalar(text, plan, field, value);
      append_json_string(out, text);
    }
  }
}

void append_json(std::string& out, const PayloadPlan& plan, Bytes payload) {
  const char* separator = "";
  out.push_back('{');
  const auto decoded =
      for_each_field(plan, payload, [&](const PayloadField& field, const Value& value) {
        out += std::exchange(separator, ",");
        out += field.json_key;
        append_json(out, plan, field, value);
      });
  if (decoded == Decoded::kTruncated) (out += separator) += "\"truncated\":true";
  if (plan.schema() == Schema::kUnknown && !payload.empty())
    print(out, "\"undescribedBytes\":{}", payload.size());
  out.push_back('}');
}

}  // namespace clrscope::nettrace
