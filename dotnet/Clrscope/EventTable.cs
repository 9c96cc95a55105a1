using System.Globalization;

namespace Clrscope;

/// <summary>The names of an enumeration's values, or of a flag word's bits.</summary>
internal sealed record ValueNames(bool Flags, (string Name, long Value)[] Values);

/// <summary>A field as the table has it. <c>Of</c> names the field whose bits it is; it has no bytes of its own then.</summary>
internal sealed record TableField(string Name, string Type, string? Of, int Shift, ulong Mask, ulong Needs, bool Hex, bool Plain, ValueNames? Names)
{
    /// <summary>The table's signed types; a listener's payload has the runtime's, which are unsigned.</summary>
    public int SignedBytes => Type switch { "i8" => 1, "i16" => 2, "i32" => 4, "i64" => 8, _ => 0 };
}

internal sealed record TableEvent(int Id, int Version, string Name, TableField[] Fields);

/// <summary>
/// What the runtime's own events and their fields are called: the tables of <c>src/nettrace/tables</c>, which are part of this
/// library. Read once, on first use. What a line means: tables/README.md.
/// </summary>
internal sealed class EventTable
{
    static readonly Lazy<EventTable> s_runtime = new(() => new EventTable(Resource("enums.events"), Resource("clr.events")));

    readonly Dictionary<string, ValueNames> _names = [];
    readonly Dictionary<string, ulong> _keywords = new(StringComparer.OrdinalIgnoreCase);
    readonly Dictionary<int, List<TableEvent>> _events = [];

    EventTable(params string[] texts)
    {
        foreach (var text in texts) Read(text);
    }

    public static EventTable Runtime => s_runtime.Value;

    public ulong? Keyword(string name) => _keywords.TryGetValue(name, out var bits) ? bits : null;

    /// <summary>The version asked for; else the highest below it, since later ones only add at the end; else the lowest.</summary>
    public TableEvent? Find(int id, int version)
    {
        if (!_events.TryGetValue(id, out var versions)) return null;
        return versions.LastOrDefault(e => e.Version <= version) ?? versions[0];
    }

    static string Resource(string name)
    {
        using var stream = typeof(EventTable).Assembly.GetManifestResourceStream(name)!;
        using var reader = new StreamReader(stream);
        return reader.ReadToEnd();
    }

    void Read(string text)
    {
        int id = 0;
        string name = "";
        TableField[] above = [];
        foreach (var line in text.Split('\n'))
        {
            if (line.Length == 0 || line[0] is '#' or 'R' or ')') continue; // comments, and what makes it a C++ literal
            var words = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            if (line[0] == ' ')
            {
                above = Fields(line, words, above);
                Events(id).Add(new TableEvent(id, Number(words[0]), name, above));
            }
            else if (words[0] is "enum" or "flags")
            {
                _names[words[1]] = new ValueNames(words[0] == "flags", words.Skip(2).Select(Pair).ToArray());
            }
            else if (words[0] == "keywords")
            {
                foreach (var word in words.Skip(1)) _keywords[word[..word.IndexOf('=')]] = Hex(word.AsSpan(word.IndexOf('=') + 1));
            }
            else if (char.IsAsciiDigit(words[0][0]))
            {
                id = Number(words[0]);
                name = words[1];
                above = [];
            }
        }
    }

    List<TableEvent> Events(int id) => _events.TryGetValue(id, out var list) ? list : _events[id] = [];

    // " 2 GCStart_V2 + ClientSequenceNumber:i64": bits of other fields stay behind those that have bytes.
    TableField[] Fields(string line, string[] words, TableField[] above)
    {
        var extends = words.Length > 2 && words[2] == "+";
        var own = Split(line, words.Length > 2 ? words[extends ? 3 : 2] : null).Select(Field);
        return (extends ? above.Concat(own) : own).OrderBy(f => f.Of is null ? 0 : 1).ToArray();
    }

    // Words from the first field on; blanks inside of braces do not part.
    static IEnumerable<string> Split(string line, string? first)
    {
        if (first is null) yield break;
        int depth = 0, begin = line.IndexOf(' ' + first, StringComparison.Ordinal) + 1;
        for (var i = begin; i <= line.Length; ++i)
        {
            if (i < line.Length && line[i] == '{') ++depth;
            if (i < line.Length && line[i] == '}') --depth;
            if (i < line.Length && (line[i] != ' ' || depth > 0)) continue;
            if (i > begin) yield return line[begin..i];
            begin = i + 1;
        }
    }

    // Name:type[:Enum], Name:type&HEX, Name=Other>>7&7?8:Enum; arrays and structures only by name.
    TableField Field(string text)
    {
        var end = text.AsSpan().IndexOfAny(":={");
        var name = text[..end];
        var plain = text[end] != '{' && !text.Contains('[');
        if (text[end] == '{' || !plain) return new TableField(name, "", null, 0, ulong.MaxValue, 0, false, false, null);
        var rest = text[(end + 1)..].Split(':');
        var names = rest.Length > 1 ? _names.GetValueOrDefault(rest[1]) : null;
        if (text[end] == '=')
        {
            var of = rest[0].AsSpan();
            var shift = of.IndexOf(">>");
            var mask = of.IndexOf('&');
            var needs = of.IndexOf('?');
            var other = of[..(shift >= 0 ? shift : mask >= 0 ? mask : needs >= 0 ? needs : of.Length)];
            return new TableField(name, "", other.ToString(), shift < 0 ? 0 : Number(of[(shift + 2)..(mask < 0 ? of.Length : mask)]),
                mask < 0 ? ulong.MaxValue : Hex(of[(mask + 1)..(needs < 0 ? of.Length : needs)]), needs < 0 ? 0 : Hex(of[(needs + 1)..]), false, true, names);
        }
        var type = rest[0];
        var bits = ulong.MaxValue;
        if (type.IndexOf('&') is var at and >= 0)
        {
            bits = Hex(type.AsSpan(at + 1));
            type = type[..at];
        }
        var hex = type.EndsWith('x');
        return new TableField(name, hex ? type[..^1] : type, null, 0, bits, 0, hex, true, names);
    }

    static (string, long) Pair(string word) => (word[..word.IndexOf('=')], long.Parse(word.AsSpan(word.IndexOf('=') + 1), CultureInfo.InvariantCulture));
    static int Number(ReadOnlySpan<char> text) => int.Parse(text, CultureInfo.InvariantCulture);
    static ulong Hex(ReadOnlySpan<char> text) => ulong.Parse(text, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
}
