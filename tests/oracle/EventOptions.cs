// The options of oracle events.

using System.Globalization;

namespace Clrscope.Oracle;

internal sealed record EventOptions
{
    public long Limit { get; private init; } = long.MaxValue;
    public bool Payload { get; private init; }
    public bool Values { get; private init; }
    public bool Bytes { get; private init; }
    public bool Stacks { get; private init; }

    /// <summary>Null when an option is unknown or wrong.</summary>
    public static EventOptions? Parse(ReadOnlySpan<string> args)
    {
        var options = new EventOptions();
        for (int i = 0; i < args.Length; ++i)
        {
            switch (args[i])
            {
                case "--payload": options = options with { Payload = true }; break;
                case "--values": options = options with { Values = true }; break;
                case "--bytes": options = options with { Bytes = true }; break;
                case "--stacks": options = options with { Stacks = true }; break;
                case "--limit" when i + 1 < args.Length && long.TryParse(
                    args[i + 1], NumberStyles.None, CultureInfo.InvariantCulture, out long limit):
                    options = options with { Limit = limit };
                    ++i;
                    break;
                default: return null;
            }
        }

        return options;
    }
}
