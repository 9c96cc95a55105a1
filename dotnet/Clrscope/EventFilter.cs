using System.Globalization;

namespace Clrscope;

/// <summary>
/// A filter on events, the language of <c>--where</c>: <c>provider=Microsoft-* name=GC/Start Depth&gt;=2 Reason=AllocLarge</c>.
/// All conditions must hold. <c>=</c> and <c>!=</c> take <c>*</c> and <c>?</c>; <c>&lt; &lt;= &gt; &gt;=</c> compare numbers.
/// The words provider, name, id, level, pid and tid are the event's own; every other one is a field of its payload, and an
/// event without that field does not pass. Put a value with spaces in double quotes.
/// </summary>
public sealed class EventFilter
{
    readonly Condition[] _conditions;
    readonly string _text;

    EventFilter(Condition[] conditions, string text)
    {
        _conditions = conditions;
        _text = text;
    }

    /// <summary>Passes all events.</summary>
    public static EventFilter Everything { get; } = new([], "");

    /// <summary>Parses conditions; throws a <see cref="FormatException"/> that names the invalid one.</summary>
    public static EventFilter Parse(string text)
    {
        ArgumentNullException.ThrowIfNull(text);
        return new EventFilter(Words(text).Select(Condition.Parse).ToArray(), text);
    }

    /// <summary>The text it was read from.</summary>
    public override string ToString() => _text;

    /// <summary>What is left to ask of each event of this type; null when none of them passes.</summary>
    internal EventTest[]? For(EventType type)
    {
        List<EventTest>? tests = null;
        foreach (var condition in _conditions)
        {
            switch (condition.Of)
            {
                case Subject.Provider:
                    if (!condition.Holds(type.Provider)) return null;
                    break;
                case Subject.Name:
                    if (!condition.Holds(type.Name)) return null;
                    break;
                case Subject.Id:
                    if (!condition.Holds(type.Id)) return null;
                    break;
                case Subject.Level:
                    if (!condition.Holds((int)type.Level)) return null;
                    break;
                case Subject.Process:
                    if (!condition.Holds(Environment.ProcessId)) return null;
                    break;
                case Subject.Thread:
                    (tests ??= []).Add(new EventTest(condition, -1));
                    break;
                default:
                    var field = type.IndexOf(condition.Key);
                    if (field < 0) return null;
                    (tests ??= []).Add(new EventTest(condition, field));
                    break;
            }
        }
        return tests?.ToArray() ?? [];
    }

    static List<string> Words(string text)
    {
        var words = new List<string>();
        var word = new System.Text.StringBuilder();
        var quoted = false;
        foreach (var c in text)
        {
            if (c == '"')
            {
                quoted = !quoted;
            }
            else if (c == ' ' && !quoted)
            {
                if (word.Length > 0) words.Add(word.ToString());
                word.Clear();
            }
            else
            {
                word.Append(c);
            }
        }
        if (word.Length > 0) words.Add(word.ToString());
        return words;
    }
}

internal enum Subject
{
    Provider,
    Name,
    Id,
    Level,
    Process,
    Thread,
    Field,
}

internal enum Comparison
{
    Is,
    IsNot,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

internal sealed record Condition(Subject Of, Comparison Op, string Key, string Text, double Number)
{
    const string Hint = "write field=value, field!=value or field<number, such as: name=GC/Start Depth>=2";

    public static Condition Parse(string word)
    {
        var at = word.AsSpan().IndexOfAny("=!<>");
        if (at <= 0) throw new FormatException($"'{word}' is not a condition: {Hint}");
        var value = at + 1;
        var equal = value < word.Length && word[value] == '=';
        if (equal) ++value;
        var op = (word[at], equal) switch
        {
            ('=', _) => Comparison.Is,
            ('!', true) => Comparison.IsNot,
            ('!', false) => throw new FormatException($"'{word}' is not a condition: {Hint}"),
            ('<', false) => Comparison.Less,
            ('<', true) => Comparison.LessOrEqual,
            ('>', false) => Comparison.More,
            _ => Comparison.MoreOrEqual,
        };
        var key = word[..at];
        var text = word[value..];
        var number = AsNumber(text);
        if (op >= Comparison.Less && number is null) throw new FormatException($"'{word}' compares with '{text}', which is not a number");
        var of = key switch
        {
            "provider" => Subject.Provider,
            "name" => Subject.Name,
            "id" => Subject.Id,
            "level" => Subject.Level,
            "pid" => Subject.Process,
            "tid" => Subject.Thread,
            _ => Subject.Field,
        };
        return new Condition(of, op, key, text, number ?? double.NaN);
    }

    public bool Holds(ReadOnlySpan<char> text) => Op switch
    {
        Comparison.Is => Glob.Matches(Text, text),
        Comparison.IsNot => !Glob.Matches(Text, text),
        _ => AsNumber(text) is { } number && Holds(number),
    };

    public bool Holds(double number) => Op switch
    {
        Comparison.Is => number == Number,
        Comparison.IsNot => number != Number,
        Comparison.Less => number < Number,
        Comparison.LessOrEqual => number <= Number,
        Comparison.More => number > Number,
        _ => number >= Number,
    };

    public bool AsksForNumber => !double.IsNaN(Number);

    static double? AsNumber(ReadOnlySpan<char> text)
    {
        const NumberStyles Style = NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint | NumberStyles.AllowExponent;
        if (text.IsEmpty || !(char.IsAsciiDigit(text[0]) || text[0] is '-' or '.')) return null;
        return double.TryParse(text, Style, CultureInfo.InvariantCulture, out var number) ? number : null;
    }
}

/// <summary>A condition with its field already found.</summary>
internal readonly record struct EventTest(Condition Condition, int Field)
{
    public bool Passes(in ClrEvent e)
    {
        if (Field < 0) return Condition.Holds(e.ThreadId);
        var value = e[Field];
        if (value.Kind == FieldKind.Missing) return false;
        if (Condition.AsksForNumber && value.TryGetNumber(out var number)) return Condition.Holds(number);
        if (value.Kind == FieldKind.Text) return Condition.Holds(value.AsString());
        Span<char> text = stackalloc char[128];
        return value.TryFormat(text, out var written) ? Condition.Holds(text[..written]) : Condition.Holds(value.ToString());
    }
}
