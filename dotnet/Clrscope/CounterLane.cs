using System.Diagnostics.Tracing;
using System.Globalization;

namespace Clrscope;

/// <summary>
/// EventCounters for all sessions. An EventSource has one timer: the shortest interval that anybody asked for, in the app or
/// here, is in force for all. So it is asked for no shorter than needed, and each session puts its own interval together.
/// </summary>
internal sealed class CounterLane : Lane
{
    // Only the counters: these keywords and this level are no event's.
    const ulong NoKeyword = 1UL << 62;

    Session[] _sessions = [];

    public void Join(Session session)
    {
        lock (Sync)
        {
            _sessions = [.. _sessions, session];
            UpdateAll();
        }
        Apply();
    }

    public void Leave(Session session)
    {
        lock (Sync)
        {
            _sessions = _sessions.Where(s => s != session).ToArray();
            UpdateAll();
        }
        Apply();
    }

    protected override void OnEventWritten(EventWrittenEventArgs e)
    {
        if (e.EventId > 0 || e.EventName != "EventCounters" || Find(e.EventSource) is null) return;
        if (e.Payload is not [IDictionary<string, object?> fields, ..]) return;
        if (Read(e.EventSource.Name, e.TimeStamp, fields) is not { } value) return;
        foreach (var session in Volatile.Read(ref _sessions))
            if (Wants(session, value.Provider) is { } request && request.Wants(value.Name) && session.Counters.Add(value) is { } whole) session.Deliver(whole);
    }

    protected override Demand DemandFor(Provider provider)
    {
        var interval = 0.0;
        foreach (var session in _sessions)
            if (Wants(session, provider.Source.Name) is not null) interval = Common(interval, session.Request.Interval.TotalSeconds);
        return interval == 0 ? Demand.None : new Demand(NoKeyword, EventLevel.Critical, interval);
    }

    protected override IDictionary<string, string?> ArgumentsFor(Demand demand) => EventLane.Parse(ArgumentText(demand))!;

    public static string ArgumentText(Demand demand) => "EventCounterIntervalSec=" + demand.IntervalSeconds.ToString("0.###", CultureInfo.InvariantCulture);

    static CounterRequest? Wants(Session session, string provider)
    {
        foreach (var request in session.Request.Counters)
            if (request.MeansEventCounters && string.Equals(request.Provider, provider, StringComparison.OrdinalIgnoreCase)) return request;
        return null;
    }

    // Two and three seconds are both made of whole seconds; below a second the shorter one must do.
    static double Common(double a, double b)
    {
        if (a == 0) return b;
        long x = (long)Math.Round(a * 1000), y = (long)Math.Round(b * 1000);
        while (y != 0) (x, y) = (y, x % y);
        return x >= 1000 ? x / 1000.0 : Math.Min(a, b);
    }

    internal static CounterValue? Read(string provider, DateTime time, IDictionary<string, object?> fields)
    {
        var name = Text("Name");
        if (name.Length == 0) return null;
        var increment = Number("Increment");
        if ((increment ?? Number("Mean")) is not { } value) return null;
        return new CounterValue
        {
            Time = time,
            Provider = provider,
            Name = name,
            DisplayName = Text("DisplayName"),
            Unit = Text("DisplayUnits"),
            Tags = Tags(Text("Metadata")),
            Kind = increment is null ? CounterKind.Mean : CounterKind.Rate,
            Value = value,
            Count = (long)(Number("Count") ?? 0),
            Min = increment is null ? Number("Min") : null,
            Max = increment is null ? Number("Max") : null,
            Interval = TimeSpan.FromSeconds(Number("IntervalSec") ?? 0),
        };

        string Text(string key) => fields.TryGetValue(key, out var found) && found is string text ? text : "";
        double? Number(string key) =>
            fields.TryGetValue(key, out var found) && found is IConvertible and not string ? Convert.ToDouble(found, CultureInfo.InvariantCulture) : null;
    }

    // "team:samples,zone:a"
    static KeyValuePair<string, string>[] Tags(string metadata) =>
        metadata.Split(',', StringSplitOptions.RemoveEmptyEntries)
            .Select(part => part.IndexOfAny([':', '=']) is var at and >= 0 ? KeyValuePair.Create(part[..at], part[(at + 1)..]) : KeyValuePair.Create(part, "")).ToArray();
}

/// <summary>
/// Puts EventCounters of short intervals together to the session's: increments are added, means weighed by their counts.
/// </summary>
internal sealed class CounterAggregate(SessionRequest request)
{
    readonly Dictionary<(string Provider, string Name, string Tags), CounterValue> _open = [];

    /// <summary>The value that is complete with this one, if it is.</summary>
    public CounterValue? Add(CounterValue value)
    {
        lock (_open)
        {
            var key = (value.Provider, value.Name, value.Tags.Count == 0 ? "" : value.TagsText);
            if (_open.Remove(key, out var before)) value = Merge(before, value);
            // A little less than the interval: values of one second come every 0.99 or 1.01.
            if (value.Interval * 10 >= request.Interval * 9) return value;
            _open[key] = value;
            return null;
        }
    }

    static CounterValue Merge(CounterValue before, CounterValue next)
    {
        var interval = before.Interval + next.Interval;
        if (next.Kind == CounterKind.Rate) return next with { Interval = interval, Value = before.Value + next.Value };
        var count = before.Count + next.Count;
        if (next.Count == 0) return before with { Time = next.Time, Interval = interval };
        if (before.Count == 0) return next with { Interval = interval };
        return next with
        {
            Interval = interval,
            Value = (before.Value * before.Count + next.Value * next.Count) / count,
            Count = count,
            Min = Math.Min(before.Min ?? next.Min ?? 0, next.Min ?? before.Min ?? 0),
            Max = Math.Max(before.Max ?? next.Max ?? 0, next.Max ?? before.Max ?? 0),
        };
    }
}
