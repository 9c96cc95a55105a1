#include "http/keys.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

constexpr Option kKey[] = {
    {.name = "--scopes",
     .value = "LIST",
     .help = "permissions: metrics, read, trace, memory, admin (default: metrics,read)"},
    {.name = "--name", .value = "NAME", .help = "name of the key in the audit log"},
    {.name = "--expires",
     .value = "DURATION",
     .help = "lifetime of the key, such as 30d (default: never expires)"},
    {.name = "--folder", .value = "DIR", .help = "folder of serve (--folder)"},
};

Result<http::ScopeSet> scopes_of(const Args& args) {
  http::ScopeSet scopes;
  const auto text = args.text("--scopes").value_or("metrics,read");
  for (const auto word : split(text, ',')) {
    const auto scope = http::parse_scope(trim(word));
    if (!scope)
      return fail(Errc::kUsage, "unknown scope '{}'", word)
          .hint("use metrics, read, trace, memory or admin");
    scopes.add(*scope);
  }
  return scopes;
}

struct KeyAnswer {
  std::string id{};
  std::string name{};
  std::string scopes{};
  WallTime created{};
  std::optional<WallTime> expires{};
  std::optional<WallTime> used{};
  std::optional<std::string> key{};
};
const Shape& shape_of(const KeyAnswer*) {
  using A = KeyAnswer;
  static const auto shape = describe<A>(
      "Key", "an API key of serve",
      {member<&A::id>("id", "id of the key"), member<&A::name>("name", "name of the key"),
       member<&A::scopes>("scopes", "what it permits, separated by commas"),
       member<&A::created>("created", "when it was created"),
       member<&A::expires>("expires", "when it expires; absent: never"),
       member<&A::used>("used", "when it was last used, to the minute"),
       member<&A::key>("key", "the key itself; only in the answer of create")});
  return shape;
}

KeyAnswer answer_of(const http::Key& key) {
  return {.id = key.id,
          .name = key.name,
          .scopes = http::text_of(key.scopes),
          .created = key.created,
          .expires = key.expires,
          .used = key.used};
}

Result<int> create(const Args& args, Console& console, http::Keys& keys) {
  const auto scopes = TRY(scopes_of(args));
  const auto name = args.text("--name").value_or("");
  if (name.size() > 100) return fail(Errc::kUsage, "--name must have at most 100 characters");
  const auto now = wall_now();
  std::optional<WallTime> expires;
  if (const auto after = TRY(args.duration("--expires"))) {
    if (after->count() <= 0 || *after > std::chrono::hours{24 * 3650})
      return fail(Errc::kUsage, "--expires must be between 1s and ten years");
    expires = now + *after;
  }
  const auto made = TRY(keys.create(name, scopes, expires, now));
  if (args.has("--json")) {
    auto answer = answer_of(made.key);
    answer.key = made.word;
    console.data(json_line(answer));
    return kDone;
  }
  console.data(made.word + "\n");
  console.talk("Key {} with scopes {}. Save it now: it is not shown again.", made.key.id,
               http::text_of(scopes));
  return kDone;
}

Result<int> list(const Args& args, Console& console, const http::Keys& keys) {
  const auto all = TRY(keys.list());
  if (args.has("--json")) {
    std::vector<KeyAnswer> answers;
    for (const auto& key : all) answers.push_back(answer_of(key));
    console.data(json_line(answers));
    return kDone;
  }
  if (all.empty()) {
    console.talk("No keys. Run clrscope key create to create one.");
    return kDone;
  }
  Table table{{"ID", "NAME", "SCOPES", "CREATED", "EXPIRES", "USED"}};
  for (const auto& key : all)
    table.add({key.id, key.name, http::text_of(key.scopes), iso8601(key.created),
               key.expires ? iso8601(*key.expires) : "never", key.used ? iso8601(*key.used) : ""});
  console.data(table.text());
  return kDone;
}

Result<int> run(const Args& args, Console& console) {
  auto keys = http::Keys::in(args.text("--folder").value_or(""));
  const auto& words = args.positionals();
  if (words.size() == 1 && words[0] == "create") return create(args, console, keys);
  if (words.size() == 1 && words[0] == "list") return list(args, console, keys);
  if (words.size() == 2 && words[0] == "revoke") {
    const auto gone = TRY(keys.revoke(words[1]));
    if (args.has("--json")) {
      console.data(json_line(answer_of(gone)));
      return kDone;
    }
    console.talk("Key {} is revoked. A running serve rejects it within a second.", gone.id);
    return kDone;
  }
  return fail(Errc::kUsage, "unknown command of clrscope key")
      .hint("use create, list or revoke ID");
}

const Options kOptions[] = {Options{kKey}, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {
    answers_with<KeyAnswer>(JsonAnswer::Form::kObject, "create"),
    answers_with<KeyAnswer>(JsonAnswer::Form::kList, "list"),
    answers_with<KeyAnswer>(JsonAnswer::Form::kObject, "revoke"),
};

}  // namespace

extern const Verb key_verb{
    .name = "key",
    .summary = "Create, list and revoke API keys for serve",
    .usage = "create | list | revoke ID [--scopes LIST] [--name NAME] [--expires DURATION]",
    .options = kOptions,
    .examples =
        "  clrscope key create --name grafana --scopes metrics\n"
        "  clrscope key revoke grafana",
    .run = run,
    .positionals = 2,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
