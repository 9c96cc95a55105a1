#include "http/keys.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/verb.h"
#include "http/state_folder.h"

namespace clrscope::cli {
namespace {

constexpr Option kKey[] = {
    {.name = "--scopes",
     .value = "LIST",
     .help = "of metrics,read,trace,memory,admin; metrics,read unless told"},
    {.name = "--name", .value = "NAME", .help = "who uses it: for the audit log"},
    {.name = "--expires", .value = "DURATION", .help = "30d; never unless told"},
    {.name = "--folder", .value = "DIR", .help = "the folder that serve has"},
};

Result<http::ScopeSet> scopes_of(const Args& args) {
  http::ScopeSet scopes;
  const auto text = args.text("--scopes").value_or("metrics,read");
  for (const auto word : split(text, ',')) {
    const auto scope = http::parse_scope(trim(word));
    if (!scope)
      return fail(Errc::kUsage, "'{}' is no scope", word)
          .hint("metrics, read, trace, memory, admin");
    scopes.add(*scope);
  }
  return scopes;
}

void write_key(JsonWriter& json, const http::Key& key) {
  json.member("id", key.id)
      .member("name", key.name)
      .member("scopes", http::text_of(key.scopes))
      .member("created", iso8601(key.created));
  if (key.expires) json.member("expires", iso8601(*key.expires));
  if (key.used) json.member("used", iso8601(*key.used));
}

Result<int> create(const Args& args, Console& console, http::Keys& keys) {
  const auto scopes = TRY(scopes_of(args));
  const auto name = args.text("--name").value_or("");
  if (name.size() > 100) return fail(Errc::kUsage, "the name is longer than 100 letters");
  const auto now = wall_now();
  std::optional<WallTime> expires;
  if (const auto after = TRY(args.duration("--expires"))) {
    if (after->count() <= 0 || *after > std::chrono::hours{24 * 3650})
      return fail(Errc::kUsage, "--expires must be from a second to ten years");
    expires = now + *after;
  }
  const auto made = TRY(keys.create(name, scopes, expires, now));
  if (args.has("--json")) {
    JsonWriter json;
    json.begin_object();
    write_key(json, made.key);
    json.member("key", made.word).end_object();
    console.data(std::move(json).take() + "\n");
    return kDone;
  }
  console.data(made.word + "\n");
  console.talk("Key {} for {}. It is shown only now; only its digest is kept.", made.key.id,
               http::text_of(scopes));
  return kDone;
}

Result<int> list(const Args& args, Console& console, const http::Keys& keys) {
  const auto all = TRY(keys.list());
  if (args.has("--json")) {
    JsonWriter json;
    json.begin_array();
    for (const auto& key : all) {
      json.begin_object();
      write_key(json, key);
      json.end_object();
    }
    json.end_array();
    console.data(std::move(json).take() + "\n");
    return kDone;
  }
  if (all.empty()) {
    console.talk("No keys. clrscope key create makes one.");
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
  http::Keys keys{http::state_folder_path(args.text("--folder").value_or(""))};
  const auto& words = args.positionals();
  if (words.size() == 1 && words[0] == "create") return create(args, console, keys);
  if (words.size() == 1 && words[0] == "list") return list(args, console, keys);
  if (words.size() == 2 && words[0] == "revoke") {
    const auto gone = TRY(keys.revoke(words[1]));
    console.talk("Key {} is good no more; a serve that runs knows within a second.", gone.id);
    return kDone;
  }
  return fail(Errc::kUsage, "key create, key list or key revoke ID?").hint("clrscope key --help");
}

const Options kOptions[] = {Options{kKey}, kCommonOptions};

}  // namespace

extern const Verb key_verb{
    .name = "key",
    .summary = "Makes, lists and revokes the keys that serve asks for",
    .usage = "create | list | revoke ID [--scopes LIST] [--name NAME] [--expires DURATION]",
    .options = kOptions,
    .examples =
        "  clrscope key create --name grafana --scopes metrics\n"
        "  clrscope key revoke grafana",
    .run = run,
    .positionals = 2,
};

}  // namespace clrscope::cli
