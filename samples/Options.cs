using System.Globalization;

namespace Samples;

sealed class UsageException(string message) : Exception(message);

/// <summary>Arguments after the symptom's name: `--name value`, `--flag` and at most one plain number.</summary>
sealed class Options
{
    public const string Common = "[--seconds S] [--until-eof] [--wait-line] [--stay] [--exit-code N]";

    static readonly string[] Flags = ["until-eof", "wait-line", "stay", "wait-enabled", "kinds", "listen", "healthy", "no-logging", "http2", "loop", "uneven", "truth"];

    readonly Dictionary<string, string> _values = [];
    readonly string? _plain;

    public Options(Symptom symptom, string[] args)
    {
        for (var i = 0; i < args.Length; ++i)
        {
            if (!args[i].StartsWith("--", StringComparison.Ordinal))
            {
                if (_plain is not null || !symptom.Options.StartsWith("[N]", StringComparison.Ordinal))
                    throw new UsageException($"unexpected argument '{args[i]}'");
                _plain = args[i];
                continue;
            }
            var name = args[i][2..];
            var known = $"{symptom.Options} {Common}".Split(['[', ']', ' ']).Contains(args[i]);
            if (!known) throw new UsageException($"{symptom.Name} has no option '{args[i]}'");
            if (Flags.Contains(name)) _values[name] = "";
            else if (++i < args.Length) _values[name] = args[i];
            else throw new UsageException($"--{name} needs a value");
        }
    }

    public bool Has(string name) => _values.ContainsKey(name);

    public string Text(string name, string otherwise) => _values.GetValueOrDefault(name, otherwise);

    /// <summary>The plain argument.</summary>
    public int Plain(int otherwise) => (int)PlainNumber(otherwise);

    public double PlainNumber(double otherwise) => _plain is null ? otherwise : Parse("the argument", _plain);

    public int Int(string name, int otherwise) => Number(name) is { } n ? (int)Math.Min(n, int.MaxValue) : otherwise;

    /// <summary>A count; without the option: no limit.</summary>
    public long Count(string name) => Number(name) is { } n ? (long)n : long.MaxValue;

    /// <summary>A number, also with "/s" behind it.</summary>
    public double? Number(string name) =>
        _values.TryGetValue(name, out var text) ? Parse($"--{name}", text) : null;

    static double Parse(string what, string text)
    {
        var digits = text.EndsWith("/s", StringComparison.Ordinal) ? text[..^2] : text;
        if (double.TryParse(digits, NumberStyles.Float, CultureInfo.InvariantCulture, out var value) && value >= 0)
            return value;
        throw new UsageException($"{what} is not a number: '{text}'");
    }
}
