using System.Diagnostics;
using System.Diagnostics.Tracing;

namespace Samples.Symptoms;

[EventSource(Name = "Clrscope-Samples-Flood")]
sealed class FloodEventSource : EventSource
{
    public static readonly FloodEventSource Log = new();

    /// <summary>Both numbers count from 0; sequence without gaps in each thread.</summary>
    [Event(1, Level = EventLevel.Informational)]
    public void Drop(long thread, long sequence) => WriteEvent(1, thread, sequence);
}

/// <summary>Events of 16 payload bytes from N threads, as fast as they go or at a rate shared by all threads.</summary>
static class Flood
{
    sealed class Tally
    {
        public long Written;
        public long WhileEnabled;
        public double Seconds;
    }

    public static void Run(Stage stage)
    {
        var log = FloodEventSource.Log;
        var rate = stage.Options.Number("rate");
        var count = stage.Options.Count("count");
        var tallies = Enumerable.Range(0, stage.Options.Int("threads", 1)).Select(_ => new Tally()).ToArray();
        stage.Ready(new
        {
            provider = log.Name,
            @event = nameof(FloodEventSource.Drop),
            threads = tallies.Length,
            perSecond = rate,
            countPerThread = count == long.MaxValue ? (long?)null : count,
        });
        stage.WaitForGo();
        var workers = new Worker[tallies.Length];
        for (var i = 0; i < tallies.Length; ++i)
        {
            var me = i;
            workers[i] = stage.Work($"flood-{i}", () =>
            {
                while (stage.Options.Has("wait-enabled") && !log.IsEnabled() && stage.Sleep(1)) { }
                var start = Stopwatch.GetTimestamp();
                if (rate is { } r) stage.Every(r / tallies.Length, () => WriteOne(log, me, tallies[me]), count);
                else AtFullSpeed(stage, log, me, tallies[me], count);
                tallies[me].Seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
            });
        }
        stage.FinishWork();
        stage.Done(new
        {
            provider = log.Name,
            total = tallies.Sum(t => t.Written),
            totalWhileEnabled = tallies.Sum(t => t.WhileEnabled),
            perSecond = Math.Round(tallies.Sum(t => t.Written / Math.Max(t.Seconds, 1e-9))),
            threads = tallies.Select((t, i) => new { thread = i, osId = workers[i].OsId, written = t.Written, whileEnabled = t.WhileEnabled }),
        });
    }

    static void AtFullSpeed(Stage stage, FloodEventSource log, long thread, Tally tally, long count)
    {
        while (tally.Written < count && !stage.Ending) WriteOne(log, thread, tally);
    }

    static void WriteOne(FloodEventSource log, long thread, Tally tally)
    {
        if (log.IsEnabled()) ++tally.WhileEnabled;
        log.Drop(thread, tally.Written++);
    }
}
