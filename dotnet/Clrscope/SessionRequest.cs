using System.Collections.ObjectModel;
using System.Diagnostics.Tracing;
using System.Globalization;

namespace Clrscope;

/// <summary>What a session requests from one provider. As in the runtime, an event is delivered if its level is not above
/// <see cref="Level"/> and it has no keywords, or one of <see cref="Keywords"/>.</summary>
public sealed record ProviderRequest(string Name)
{
    /// <summary>The runtime's own events: collections, code, threads, exceptions, contention, allocations.</summary>
    public const string Runtime = "Microsoft-Windows-DotNETRuntime";

    /// <summary>Name of the provider; <c>*</c> and <c>?</c> are wildcards, also for providers created later.</summary>
    public string Name { get; init; } = string.IsNullOrWhiteSpace(Name) ? throw new ArgumentException("a provider has no name", nameof(Name)) : Name;

    /// <summary>Keywords: an event needs one of them, unless it has none.</summary>
    public ulong Keywords { get; init; } = ulong.MaxValue;

    /// <summary>The highest level that is delivered.</summary>
    public EventLevel Level { get; init; } = EventLevel.Verbose;

    /// <summary>Arguments of the provider: <c>key=value;key2=value2</c>.</summary>
    public string Arguments { get; init; } = "";

    /// <summary>Only these events; empty: all.</summary>
    public IReadOnlyList<int> Ids { get; init; } = [];

    /// <summary>Reads <c>Name[:keywords[:level[:key=value;…]]]</c>, as <c>--providers</c> has it: keywords in hexadecimal,
    /// or the names of the runtime's joined by <c>+</c>.</summary>
    public static ProviderRequest Parse(string text)
    {
        ArgumentNullException.ThrowIfNull(text);
        var parts = text.Split(':', 4);
        var request = new ProviderRequest(parts[0].Trim());
        if (parts.Length > 1 && parts[1].Trim() is { Length: > 0 } keywords) request = request with { Keywords = ParseKeywords(keywords) };
        if (parts.Length > 2 && parts[2].Trim() is { Length: > 0 } level) request = request with { Level = ParseLevel(level) };
        if (parts.Length > 3)
        {
            var arguments = parts[3].Trim();
            if (arguments.Length > 0 && !arguments.Contains('='))
                throw new FormatException($"'{arguments}' is not an argument of provider {request.Name}: write key=value;key2=value2");
            request = request with { Arguments = arguments };
        }
        return request;
    }

    internal bool Names(string provider) =>
        Glob.IsPattern(Name) ? Glob.Matches(Name, provider) : string.Equals(Name, provider, StringComparison.OrdinalIgnoreCase);

    internal bool Brings(EventType type) =>
        (int)type.Level <= (int)Level && (type.Keywords == 0 || (type.Keywords & Keywords) != 0) && (Ids.Count == 0 || Ids.Contains(type.Id));

    static ulong ParseKeywords(string text)
    {
        var digits = text.StartsWith("0x", StringComparison.OrdinalIgnoreCase) ? text.AsSpan(2) : text;
        if (ulong.TryParse(digits, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out var bits)) return bits;
        foreach (var word in text.Split('+'))
        {
            var known = EventTable.Runtime.Keyword(word.Trim());
            bits |= known ?? throw new FormatException($"'{text}' is not a keyword mask: write it in hexadecimal, such as 0x8001");
        }
        return bits;
    }

    static EventLevel ParseLevel(string text)
    {
        if (int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var number) && number <= 5) return (EventLevel)number;
        if (text.Equals("info", StringComparison.OrdinalIgnoreCase)) return EventLevel.Informational;
        if (!char.IsAsciiDigit(text[0]) && Enum.TryParse<EventLevel>(text, ignoreCase: true, out var level)) return level;
        throw new FormatException($"'{text}' is not a level: write 0 to 5, or a name such as Informational");
    }
}

/// <summary>Which kind of counters a name refers to.</summary>
public enum CounterOrigin
{
    /// <summary>The meter where the runtime has one of that name instead of its older EventCounters, else both.</summary>
    Either,

    /// <summary>EventCounters of an EventSource.</summary>
    EventCounters,

    /// <summary>Instruments of a <see cref="System.Diagnostics.Metrics.Meter"/>.</summary>
    Meter,
}

/// <summary>Counters that a session requests.</summary>
public sealed record CounterRequest(string Provider)
{
    // Meters that .NET itself has from this version on under the name of its older EventCounters.
    static readonly (string Name, int Since)[] s_ownMeters =
        [("System.Runtime", 9), ("Microsoft.AspNetCore.Hosting", 8), ("System.Net.Http", 8), ("System.Net.NameResolution", 8)];

    /// <summary>The EventSource's or the meter's name.</summary>
    public string Provider { get; init; } = string.IsNullOrWhiteSpace(Provider) ? throw new ArgumentException("a counter's provider has no name", nameof(Provider)) : Provider;

    /// <summary>Only these counters; empty: all.</summary>
    public IReadOnlyList<string> Names { get; init; } = [];

    /// <summary>EventCounters, Meter, or whichever exists.</summary>
    public CounterOrigin Origin { get; init; }

    /// <summary>Reads <c>Provider[a,b]</c>, <c>EventCounters\Provider</c> or <c>Meter\Provider</c>, as <c>--counters</c> has it.</summary>
    public static CounterRequest Parse(string text)
    {
        ArgumentNullException.ThrowIfNull(text);
        var origin = CounterOrigin.Either;
        if (text.StartsWith(@"EventCounters\", StringComparison.Ordinal)) origin = CounterOrigin.EventCounters;
        if (text.StartsWith(@"Meter\", StringComparison.Ordinal)) origin = CounterOrigin.Meter;
        if (origin != CounterOrigin.Either) text = text[(text.IndexOf('\\') + 1)..];
        var open = text.IndexOf('[');
        if (open < 0) return new CounterRequest(text.Trim()) { Origin = origin };
        if (!text.EndsWith(']')) throw new FormatException($"'{text}' has no closing bracket: write Provider[a,b]");
        var names = text[(open + 1)..^1].Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        return new CounterRequest(text[..open].Trim()) { Origin = origin, Names = names };
    }

    internal bool MeansMeter => Origin switch
    {
        CounterOrigin.Either => OwnSince is not { } since || Environment.Version.Major >= since,
        _ => Origin == CounterOrigin.Meter,
    };

    internal bool MeansEventCounters => Origin switch
    {
        CounterOrigin.Either => OwnSince is not { } since || Environment.Version.Major < since,
        _ => Origin == CounterOrigin.EventCounters,
    };

    internal bool Wants(string name) => Names.Count == 0 || Names.Contains(name);

    int? OwnSince
    {
        get
        {
            foreach (var (name, since) in s_ownMeters)
                if (name == Provider) return since;
            return null;
        }
    }
}

/// <summary>The providers that a session requests.</summary>
public sealed class ProviderRequestCollection : Collection<ProviderRequest>
{
    /// <summary>Adds what <see cref="ProviderRequest.Parse"/> reads: <c>Providers = { "Shop:0x3:Informational" }</c>.</summary>
    /// <exception cref="FormatException">The text is not a provider.</exception>
    public void Add(string text) => Add(ProviderRequest.Parse(text));
}

/// <summary>The counters that a session requests.</summary>
public sealed class CounterRequestCollection : Collection<CounterRequest>
{
    /// <summary>Adds what <see cref="CounterRequest.Parse"/> reads: <c>Counters = { "System.Runtime[dotnet.gc.collections]" }</c>.</summary>
    /// <exception cref="FormatException">The text is not a counter.</exception>
    public void Add(string text) => Add(CounterRequest.Parse(text));
}

/// <summary>The request of one session. A session keeps its own copy.</summary>
public sealed class SessionRequest
{
    /// <summary>Providers whose events the session receives.</summary>
    public ProviderRequestCollection Providers { get; } = new();

    /// <summary>Filter for events. Counters are not filtered.</summary>
    public EventFilter Filter { get; init; } = EventFilter.Everything;

    /// <summary>Counters that the session receives.</summary>
    public CounterRequestCollection Counters { get; } = new();

    /// <summary>Time between two values of a counter.</summary>
    public TimeSpan Interval { get; init; } = TimeSpan.FromSeconds(1);

    internal SessionRequest Copy()
    {
        var copy = new SessionRequest { Filter = Filter, Interval = Interval };
        foreach (var provider in Providers) copy.Providers.Add(provider);
        foreach (var counter in Counters) copy.Counters.Add(counter);
        return copy;
    }
}
