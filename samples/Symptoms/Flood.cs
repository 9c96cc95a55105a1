using System.Diagnostics;
using System.Diagnostics.Tracing;

namespace Samples.Symptoms;

[EventSource(Name = "Clrscope-Samples-Flood")]
sealed class FloodEventSource : EventSource
{
    public static readonly FloodEventSource Log = new();

    public static class Keywords
    {
        public const EventKeywords One = (EventKeywords)0x1;
        public const EventKeywords Two = (EventKeywords)0x2;
        public const EventKeywords Same = (EventKeywords)0x4;
    }

    /// <summary>Both numbers count from 0; sequence without gaps in each thread.</summary>
    [Event(1, Level = EventLevel.Informational)]
    public void Drop(long thread, long sequence) => WriteEvent(1, thread, sequence);

    [Event(2, Level = EventLevel.Informational, Keywords = Keywords.One)]
    public void One(long thread, long sequence) => WriteEvent(2, thread, sequence);

    [Event(3, Level = EventLevel.Informational, Keywords = Keywords.Two)]
    public void Two(long thread, long sequence) => WriteEvent(3, thread, sequence);

    [Event(4, Level = EventLevel.Verbose, Keywords = Keywords.One)]
    public void Loud(long thread, long sequence) => WriteEvent(4, thread, sequence);

    /// <summary>Each is like the one before: only their number can be checked.</summary>
    [Event(5, Level = EventLevel.Informational, Keywords = Keywords.Same)]
    public void Same() => WriteEvent(5);
}

/// <summary>
/// Events of 16 payload bytes from N threads, as fast as they go or at a rate shared by all threads. With --kinds the
/// events take turns: of each thread Drop has the sequences 0, 5, 10 …, One 1, 6 …, Two 2 …, Loud 3 …, Same stands for 4, 9 …
/// </summary>
static class Flood
{
    /// <summary>The program's own listener, beside whatever listens from outside.</summary>
    sealed class Listener : EventListener
    {
        long _got;

        public long Got => Interlocked.Read(ref _got);

        protected override void OnEventWritten(EventWrittenEventArgs e)
        {
            if (e.EventId is >= 1 and <= 5) Interlocked.Increment(ref _got);
        }
    }

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
        var kinds = stage.Options.Has("kinds");
        var tallies = Enumerable.Range(0, stage.Options.Int("threads", 1)).Select(_ => new Tally()).ToArray();
        using var listener = stage.Options.Has("listen") ? new Listener() : null;
        listener?.EnableEvents(log, EventLevel.Verbose, EventKeywords.All);
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
                if (rate is { } r) stage.Every(r / tallies.Length, () => WriteOne(log, me, tallies[me], kinds), count);
                else AtFullSpeed(stage, log, me, tallies[me], count, kinds);
                tallies[me].Seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
            });
        }
        stage.FinishWork();
        stage.Done(new
        {
            provider = log.Name,
            total = tallies.Sum(t => t.Written),
            listened = listener?.Got,
            totalWhileEnabled = tallies.Sum(t => t.WhileEnabled),
            perSecond = Math.Round(tallies.Sum(t => t.Written / Math.Max(t.Seconds, 1e-9))),
            threads = tallies.Select((t, i) => new { thread = i, osId = workers[i].OsId, written = t.Written, whileEnabled = t.WhileEnabled }),
        });
    }

    static void AtFullSpeed(Stage stage, FloodEventSource log, long thread, Tally tally, long count, bool kinds)
    {
        while (tally.Written < count && !stage.Ending) WriteOne(log, thread, tally, kinds);
    }

    static void WriteOne(FloodEventSource log, long thread, Tally tally, bool kinds)
    {
        if (log.IsEnabled()) ++tally.WhileEnabled;
        var sequence = tally.Written++;
        switch (kinds ? sequence % 5 : 0)
        {
            case 0: log.Drop(thread, sequence); break;
            case 1: log.One(thread, sequence); break;
            case 2: log.Two(thread, sequence); break;
            case 3: log.Loud(thread, sequence); break;
            default: log.Same(); break;
        }
    }
}
