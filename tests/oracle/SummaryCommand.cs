// oracle summary: how many events of which kind, and how many were lost.

using Microsoft.Diagnostics.Tracing;

namespace Clrscope.Oracle;

internal static class SummaryCommand
{
    private readonly record struct Kind(string Provider, int Id, int Version, string Name);

    public static int Run(string file)
    {
        using EventPipeEventSource source = TraceSource.Open(file);
        var counts = new Dictionary<Kind, long>();
        long events = 0;
        long first = long.MaxValue;
        long last = long.MinValue;
        source.AllEvents += data =>
        {
            var kind = new Kind(data.ProviderName, TraceSource.Id(data), data.Version, data.EventName);
            counts[kind] = counts.GetValueOrDefault(kind) + 1;
            ++events;
            first = Math.Min(first, TraceSource.Ticks(data));
            last = Math.Max(last, TraceSource.Ticks(data));
        };
        string? error = TraceSource.Process(source);

        using var json = new JsonOut();
        var w = json.Writer;
        w.WriteStartObject();
        w.WriteNumber("formatVersion", TraceSource.FormatVersion(source));
        w.WriteNumber("events", events);
        w.WriteNumber("lost", source.EventsLost);
        w.WriteString("startTime", source.SessionStartTime.ToUniversalTime().ToString("o"));
        w.WriteNumber("durationMs", source.SessionEndTimeRelativeMSec);
        w.WriteNumber("ticksPerSecond", TraceSource.TicksPerSecond(source));
        w.WriteNumber("syncTicks", TraceSource.SyncTicks(source));
        if (events > 0)
        {
            w.WriteNumber("firstTicks", first);
            w.WriteNumber("lastTicks", last);
        }

        w.WriteNumber("pointerSize", source.PointerSize);
        w.WriteNumber("processors", source.NumberOfProcessors);
        w.WriteStartArray("byEvent");
        foreach (var (kind, count) in counts.OrderBy(c => c.Key.Provider, StringComparer.Ordinal)
                     .ThenBy(c => c.Key.Id).ThenBy(c => c.Key.Version).ThenBy(c => c.Key.Name, StringComparer.Ordinal))
        {
            w.WriteStartObject();
            w.WriteString("provider", kind.Provider);
            w.WriteString("name", kind.Name);
            w.WriteNumber("id", kind.Id);
            w.WriteNumber("version", kind.Version);
            w.WriteNumber("count", count);
            w.WriteEndObject();
        }

        w.WriteEndArray();
        if (error is not null)
        {
            w.WriteString("error", error);
        }

        w.WriteEndObject();
        json.EndLine();
        return Program.ExitCode(error);
    }
}
