#include "nettrace/payload_text.h"

#include <utility>

#include "nettrace/payload_print.h"

namespace clrscope::nettrace {
namespace {

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
}

// Inside a structure: numbers and truths as they are, everything else quoted.
void append_member(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                   const Value& value) {
  const char* separator = "";
  switch (value.kind) {
    case Kind::kObject:
      out += "{ ";
      for_each_member(plan, field, value, [&](const PayloadField& member, const Value& inner) {
        out += std::exchange(separator, ", ");
        append_quoted(out, member.name);
        out.push_back(':');
        append_member(out, plan, member, inner);
      });
      out += " }";
      break;
    case Kind::kArray:
      out += "[ ";
      for_each_element(plan, field, value, [&](const PayloadField& element, const Value& inner) {
        out += std::exchange(separator, ", ");
        append_member(out, plan, element, inner);
      });
      out += " ]";
      break;
    case Kind::kBool:
    case Kind::kFloat:
    case Kind::kDouble:
      append_scalar(out, plan, field, value);
      break;
    default:
      if (field.wire == Wire::kInt32 || field.wire == Wire::kInt16) {
        append_scalar(out, plan, field, value);
      } else if (value.kind == Kind::kUInt && field.names == nullptr) {
        print(out, "\"{}\"", value.u);  // addresses too
      } else {
        std::string text;
        append_scalar(text, plan, field, value);
        append_quoted(out, text);
      }
  }
}

// "key"->"value" for pairs, as TraceEvent prints the arguments of DiagnosticSource events.
bool append_pair(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                 const Value& value) {
  const auto members = plan.children(field);
  if (value.kind != Kind::kObject || members.size() != 2 || members[0].name != "Key" ||
      members[1].name != "Value")
    return false;
  for_each_member(plan, field, value, [&](const PayloadField& member, const Value& inner) {
    const bool is_value = member.name == "Value";
    if (is_value) out += "->\"";
    append_scalar(out, plan, member, inner);
    if (is_value) out.push_back('"');
  });
  return true;
}

}  // namespace

void append_text(std::string& out, const PayloadPlan& plan, const PayloadField& field,
                 const Value& value) {
  if (value.kind == Kind::kObject) {
    append_member(out, plan, field, value);
  } else if (value.kind == Kind::kArray) {
    const char* separator = "";
    out.push_back('[');
    for_each_element(plan, field, value, [&](const PayloadField& element, const Value& inner) {
      out += std::exchange(separator, ",");
      if (append_pair(out, plan, element, inner)) return;
      if (inner.kind == Kind::kObject || inner.kind == Kind::kArray)
        append_member(out, plan, element, inner);
      else if (inner.kind == Kind::kUInt)
        append_integer(out, inner.u);  // elements are printed plainly, addresses too
      else
        append_scalar(out, plan, element, inner);
    });
    out.push_back(']');
  } else {
    append_scalar(out, plan, field, value);
  }
}

void append_text(std::string& out, const PayloadPlan& plan, Bytes payload) {
  const char* separator = "";
  const auto decoded =
      for_each_field(plan, payload, [&](const PayloadField& field, const Value& value) {
        out += std::exchange(separator, " ");
        out += field.name;
        out += "=\"";
        append_text(out, plan, field, value);
        out.push_back('"');
      });
  if (decoded == Decoded::kTruncated) (out += separator) += "(truncated)";
  if (plan.schema() == Schema::kUnknown && !payload.empty())
    print(out, "({} bytes without a description)", payload.size());
}

}  // namespace clrscope::nettrace
