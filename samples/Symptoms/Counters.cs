using System.Diagnostics.Tracing;

namespace Samples.Symptoms;

[EventSource(Name = "Clrscope-Samples-Counters")]
sealed class CountersEventSource : EventSource
{
    public static readonly CountersEventSource Log = new();

    readonly EventCounter _duration;
    readonly IncrementingEventCounter _requests;
    readonly PollingCounter _queue;
    readonly IncrementingPollingCounter _bytes;
    long _sent;

    CountersEventSource()
    {
        _duration = new("request-duration", this) { DisplayName = "Request Duration", DisplayUnits = "ms" };
        _requests = new("requests", this) { DisplayName = "Requests", DisplayRateTimeScale = TimeSpan.FromSeconds(1) };
        _queue = new("queue-length", this, () => 42) { DisplayName = "Queue Length" };
        _bytes = new("bytes-sent", this, () => Interlocked.Read(ref _sent)) { DisplayName = "Bytes Sent", DisplayUnits = "B", DisplayRateTimeScale = TimeSpan.FromSeconds(1) };
        _queue.AddMetadata("team", "samples");
    }

    [NonEvent]
    public void Served(long number)
    {
        _duration.WriteMetric(10 * (1 + number % 3));
        _requests.Increment();
        Interlocked.Add(ref _sent, 1000);
    }
}

/// <summary>100 requests a second, each of 10, 20 or 30 ms and 1000 bytes, before a queue of 42.</summary>
static class Counters
{
    public static void Run(Stage stage)
    {
        var log = CountersEventSource.Log;
        long served = 0;
        stage.Work("requests", () => stage.Every(100, () => log.Served(served++)));
        stage.Ready(new
        {
            provider = log.Name,
            counters = new object[]
            {
                new { name = "request-duration", kind = "EventCounter", unit = "ms", mean = 20, min = 10, max = 30, countPerSecond = 100 },
                new { name = "requests", kind = "IncrementingEventCounter", unit = "", perSecond = 100 },
                new { name = "queue-length", kind = "PollingCounter", unit = "", value = 42, metadata = "team:samples" },
                new { name = "bytes-sent", kind = "IncrementingPollingCounter", unit = "B", perSecond = 100_000 },
            },
        });
        stage.FinishWork();
        stage.Done(new { requests = served, bytes = served * 1000 });
    }
}
