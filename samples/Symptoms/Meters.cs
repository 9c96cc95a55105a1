using System.Diagnostics.Metrics;

namespace Samples.Symptoms;

/// <summary>Every kind of instrument with known rates and values. Latencies are 1, 2 … 100 ms in turn.</summary>
static class Meters
{
    const string Name = "Clrscope.Samples";
    static long s_requests;

    public static void Run(Stage stage)
    {
        using var meter = new Meter(Name, "1.0");
        var requests = meter.CreateCounter<long>("samples.requests", "{request}", "Requests served");
        var queue = meter.CreateUpDownCounter<int>("samples.queue", "{item}", "Items waiting");
        var latency = meter.CreateHistogram<double>("samples.latency", "ms", "Time to answer");
        // One instrument, as many histograms as it has items.
        var items = stage.Options.Int("histograms", 0);
        var size = items > 0 ? meter.CreateHistogram<double>("samples.size", "By", "Size by item") : null;
        meter.CreateObservableCounter("samples.bytes", Bytes, "By", "Bytes sent");
        meter.CreateObservableUpDownCounter("samples.connections", () => 17, "{connection}", "Open connections");
        meter.CreateObservableGauge("samples.temperature", Temperature, "Cel", "Temperature by room");
#if NET9_0_OR_GREATER
        var load = meter.CreateGauge<double>("samples.load", "1", "Load last seen");
#endif
        // Only changes are told: a listener that comes later sees 0 and not these.
        queue.Add(5, Tag("queue", "fast"));
        queue.Add(9, Tag("queue", "slow"));
        queue.Add(-2, Tag("queue", "slow"));

        stage.Work("requests", () => stage.Every(100, () =>
        {
            var n = s_requests++;
            if (n % 4 == 0) requests.Add(1, Tag("route", "/b"), Tag("status", 500));
            else requests.Add(1, Tag("route", "/a"), Tag("status", 200));
            latency.Record(1 + n % 100, Tag("route", "/a"));
            for (var item = 0; item < items; ++item) size?.Record(item, Tag("item", item));
            foreach (var name in (string[])["fast", "slow"])
            {
                queue.Add(1, Tag("queue", name));
                queue.Add(-1, Tag("queue", name));
            }
#if NET9_0_OR_GREATER
            load.Record(0.75, Tag("cpu", "all"));
#endif
        }));
        stage.Ready(new { meter = Name, version = "1.0", instruments = Instruments() });
        stage.FinishWork();
        var failed = (s_requests + 3) / 4;
        stage.Done(new { requests = s_requests, requestsA = s_requests - failed, requestsB = failed, bytes = s_requests * 1000 });
    }

    static List<object> Instruments()
    {
        List<object> all =
        [
            new { name = "samples.requests", kind = "Counter", unit = "{request}", tags = "route=/a,status=200", perSecond = 75 },
            new { name = "samples.requests", kind = "Counter", unit = "{request}", tags = "route=/b,status=500", perSecond = 25 },
            new { name = "samples.queue", kind = "UpDownCounter", unit = "{item}", tags = "queue=fast", value = 5, valueIfAttachedLater = 0 },
            new { name = "samples.queue", kind = "UpDownCounter", unit = "{item}", tags = "queue=slow", value = 7, valueIfAttachedLater = 0 },
            new { name = "samples.bytes", kind = "ObservableCounter", unit = "By", tags = "", perSecond = 100_000 },
            new { name = "samples.connections", kind = "ObservableUpDownCounter", unit = "{connection}", tags = "", value = 17 },
            new { name = "samples.temperature", kind = "ObservableGauge", unit = "Cel", tags = "room=cellar", value = 11.5 },
            new { name = "samples.temperature", kind = "ObservableGauge", unit = "Cel", tags = "room=roof", value = 28.25 },
            new { name = "samples.latency", kind = "Histogram", unit = "ms", tags = "route=/a", p50 = 50, p95 = 95, p99 = 99, countPerSecond = 100 },
        ];
#if NET9_0_OR_GREATER
        all.Add(new { name = "samples.load", kind = "Gauge", unit = "1", tags = "cpu=all", value = 0.75 });
#endif
        return all;
    }

    static long Bytes() => Volatile.Read(ref s_requests) * 1000;

    static Measurement<double>[] Temperature() => [new(11.5, Tag("room", "cellar")), new(28.25, Tag("room", "roof"))];

    static KeyValuePair<string, object?> Tag(string name, object value) => new(name, value);
}
