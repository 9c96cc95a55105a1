using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using System.Diagnostics.Tracing;
using Xunit;

namespace Clrscope.Tests;

public class CounterTests
{
    [EventSource(Name = "Clrscope-Tests-Counters")]
    sealed class CounterSource : EventSource
    {
        readonly EventCounter _latency;
        readonly IncrementingEventCounter _orders;

        public CounterSource()
        {
            _latency = new EventCounter("latency", this) { DisplayName = "Latency", DisplayUnits = "ms" };
            _latency.AddMetadata("team", "shop");
            _orders = new IncrementingEventCounter("orders", this);
        }

        [Event(1)]
        public void Said(int number) => WriteEvent(1, number);

        public void Order(double latency)
        {
            _latency.WriteMetric(latency);
            _orders.Increment();
        }

        protected override void Dispose(bool disposing)
        {
            _latency.Dispose();
            _orders.Dispose();
            base.Dispose(disposing);
        }
    }

    [Fact]
    public void EventCountersComeAtEachSessionsInterval()
    {
        using var source = new CounterSource();
        var fast = new ConcurrentQueue<CounterValue>();
        var slow = new ConcurrentQueue<CounterValue>();
        var events = 0;
        using (Session.Start(new SessionRequest { Providers = { "Clrscope-Tests-Counters" } }, (in ClrEvent e) => ++events))
        using (Session.Start(new SessionRequest { Counters = { "Clrscope-Tests-Counters" }, Interval = TimeSpan.FromSeconds(1) }, onCounter: fast.Enqueue))
        using (Session.Start(new SessionRequest { Counters = { @"EventCounters\Clrscope-Tests-Counters[orders]" }, Interval = TimeSpan.FromSeconds(2) }, onCounter: slow.Enqueue))
        {
            Assert.Contains(Session.ActiveProviders, request => request.Arguments == "EventCounterIntervalSec=1");
            for (var i = 1; i <= 10; ++i) source.Order(i);
            Wait.Until(() => slow.Sum(v => v.Value) >= 10 && fast.Where(v => v.Name == "orders").Sum(v => v.Value) >= 10 && fast.Where(v => v.Name == "latency").Sum(v => v.Count) >= 10, "counters");
            source.Said(1);
        }
        Assert.All(slow, value => Assert.InRange(value.Interval.TotalSeconds, 1.8, 60));
        Assert.All(slow, value => Assert.Equal("orders", value.Name));
        Assert.Equal(10, fast.Where(v => v.Name == "orders").Sum(v => v.Value));
        var latencies = fast.Where(v => v is { Name: "latency", Count: > 0 }).ToArray(); // of more than one interval on a slow machine
        Assert.Equal((10, 55.0, 1.0, 10.0), (latencies.Sum(v => v.Count), Math.Round(latencies.Sum(v => v.Value * v.Count), 6), latencies.Min(v => v.Min), latencies.Max(v => v.Max)));
        Assert.All(latencies, v => Assert.Equal((CounterKind.Mean, "ms", "Latency", "team=shop"), (v.Kind, v.Unit, v.DisplayName, v.TagsText)));
        Assert.Equal(1, events); // counters are no events to who asked for none
        Assert.Empty(Session.ActiveProviders);
    }

    sealed class AppListener : EventListener
    {
        public readonly ConcurrentQueue<double> Intervals = [];

        protected override void OnEventWritten(EventWrittenEventArgs e)
        {
            if (e.EventName == "EventCounters" && e.EventSource.Name == "Clrscope-Tests-Counters" && e.Payload![0] is IDictionary<string, object?> fields && fields["Name"] is "orders")
                Intervals.Enqueue(Convert.ToDouble(fields["IntervalSec"]));
        }
    }

    [Fact]
    public void ListenersOfTheAppKeepTheirInterval()
    {
        using var source = new CounterSource();
        using var app = new AppListener();
        app.EnableEvents(source, EventLevel.Critical, (EventKeywords)1, new Dictionary<string, string?> { ["EventCounterIntervalSec"] = "1" });
        var got = new ConcurrentQueue<CounterValue>();
        using (Session.Start(new SessionRequest { Counters = { "Clrscope-Tests-Counters[orders]" }, Interval = TimeSpan.FromSeconds(2) }, onCounter: got.Enqueue))
        {
            source.Order(1);
            Wait.Until(() => got.Sum(v => v.Value) >= 1, "the session's counter");
        }
        var seen = app.Intervals.Count;
        Assert.True(seen >= 2, "each second for the app, every two for the session");
        Assert.All(got, value => Assert.InRange(value.Interval.TotalSeconds, 1.8, 60));
        Wait.Until(() => app.Intervals.Count > seen, "the app's counters when the session is gone");
    }

    [Fact]
    public void AggregateAddsIncrementsAndWeighsMeans()
    {
        var aggregate = new CounterAggregate(new SessionRequest { Interval = TimeSpan.FromSeconds(3) });
        CounterValue Value(CounterKind kind, double value, long count) => new()
        {
            Time = DateTime.UnixEpoch, Provider = "p", Name = kind.ToString(), Kind = kind, Value = value, Count = count, Min = value, Max = value, Interval = TimeSpan.FromSeconds(1.01),
        };
        Assert.Null(aggregate.Add(Value(CounterKind.Rate, 1, 0)));
        Assert.Null(aggregate.Add(Value(CounterKind.Mean, 4, 1)));
        Assert.Null(aggregate.Add(Value(CounterKind.Rate, 2, 0)));
        Assert.Null(aggregate.Add(Value(CounterKind.Mean, 0, 0)));
        Assert.Equal(6, aggregate.Add(Value(CounterKind.Rate, 3, 0))!.Value);
        var mean = aggregate.Add(Value(CounterKind.Mean, 8, 3))!;
        Assert.Equal((7.0, 4L, 4.0, 8.0), (mean.Value, mean.Count, mean.Min, mean.Max));
        Assert.Null(aggregate.Add(Value(CounterKind.Rate, 5, 0)));
    }

    [Fact]
    public void MetersComeWithTagsAndQuantiles()
    {
        using var meter = new Meter("Clrscope.Tests.Shop");
        var orders = meter.CreateCounter<int>("orders", "{order}");
        var queue = meter.CreateUpDownCounter<long>("queue");
        var latency = meter.CreateHistogram<double>("latency", "ms");
        var total = 100;
        meter.CreateObservableCounter("total", () => total);
        meter.CreateObservableGauge("level", () => new Measurement<double>(0.5, new KeyValuePair<string, object?>("tank", 1)));
        var got = new ConcurrentQueue<CounterValue>();
        var twice = new ConcurrentQueue<CounterValue>();
        using (Session.Start(new SessionRequest { Counters = { "Clrscope.Tests.Shop" }, Interval = TimeSpan.FromMilliseconds(200) }, onCounter: got.Enqueue))
        using (Session.Start(new SessionRequest { Counters = { "Clrscope.Tests.Shop[orders]" }, Interval = TimeSpan.FromMilliseconds(500) }, onCounter: twice.Enqueue))
        {
            for (var i = 1; i <= 1000; ++i)
            {
                orders.Add(1, new KeyValuePair<string, object?>("route", "/a"), new KeyValuePair<string, object?>("status", 200));
                orders.Add(2, new KeyValuePair<string, object?>("status", 200), new KeyValuePair<string, object?>("route", "/a")); // the same
                orders.Add(1);
            }
            for (var i = 1; i <= 100; ++i) latency.Record(i);
            queue.Add(5);
            queue.Add(-2);
            total = 107;
            Wait.Until(() => Sum(got, "orders") >= 4000 && Sum(twice, "orders") >= 4000 && Sum(got, "total") >= 7 && got.Any(v => v.Name == "level"), "meters");
        }
        Assert.Equal(3000, got.Where(v => v.Name == "orders" && v.TagsText == "route=/a,status=200").Sum(v => v.Value));
        Assert.Equal(1000, got.Where(v => v is { Name: "orders", Tags.Count: 0 }).Sum(v => v.Value));
        Assert.Equal((4000.0, 7.0), (Sum(twice, "orders"), Sum(got, "total")));
        Assert.All(twice, v => Assert.Equal(("orders", "{order}", CounterKind.Rate, true), (v.Name, v.Unit, v.Kind, v.IsMeter)));
        Assert.Equal(3, got.Last(v => v.Name == "queue").Value);
        var level = got.First(v => v.Name == "level");
        Assert.Equal((0.5, "tank=1", CounterKind.Gauge), (level.Value, level.TagsText, level.Kind));
        var histograms = got.Where(v => v.Name == "latency").ToArray();
        Assert.Equal((100L, 5050.0), (histograms.Sum(h => h.Count), histograms.Sum(h => h.Sum)));
        if (histograms is [var one]) Assert.All(one.Quantiles, q => Assert.InRange(q.Value, q.Key * 99, q.Key * 101.5));

        static double Sum(IEnumerable<CounterValue> values, string name) => values.Where(v => v.Name == name).Sum(v => v.Value);
    }

    [Fact]
    public void ThreadsOfThePoolAreSoManyAndNoRate()
    {
        if (Environment.Version.Major < 9) return; // no such meter
        var got = new ConcurrentQueue<CounterValue>();
        using (Session.Start(new SessionRequest { Counters = { "System.Runtime[dotnet.thread_pool.thread.count]" }, Interval = TimeSpan.FromMilliseconds(200) }, onCounter: got.Enqueue))
            Wait.Until(() => !got.IsEmpty, "threads of the pool");
        Assert.All(got, v => Assert.Equal(CounterKind.UpDown, v.Kind));
    }

    [Fact]
    public void QuantilesAreWithinOnePercent()
    {
        var distribution = new Distribution();
        for (var i = -1000; i <= 100_000; ++i) distribution.Add(i / 8.0);
        foreach (var (share, value) in distribution.Quantiles(0.001, 0.5, 0.95, 0.99, 1))
        {
            var exact = (Math.Ceiling(share * 101_001) - 1001) / 8.0;
            Assert.InRange(value, exact - Math.Abs(exact) / 100, exact + Math.Abs(exact) / 100);
        }
    }

    [Fact]
    public void TagsWithoutEndAreBoundedAndCounted()
    {
        using var meter = new Meter("Clrscope.Tests.Tags");
        var counter = meter.CreateCounter<long>("c");
        var got = new ConcurrentDictionary<string, double>();
        using var session = Session.Start(new SessionRequest { Counters = { @"Meter\Clrscope.Tests.Tags" }, Interval = TimeSpan.FromMilliseconds(100) },
            onCounter: v => got.AddOrUpdate(v.TagsText, v.Value, (_, sum) => sum + v.Value), options: new SessionOptions { MaxSeries = 100 });
        for (var i = 0; i < 5000; ++i) counter.Add(1, new KeyValuePair<string, object?>("user", i));
        Wait.Until(() => got.Values.Sum() >= 100, "values");
        Assert.Equal(4900, session.SeriesRefused);
        Assert.Equal((100, 100.0), (got.Count, got.Values.Sum()));
    }

    [Fact]
    public void RecordingSeenTagsAllocatesNothing()
    {
        using var meter = new Meter("Clrscope.Tests.Alloc");
        var counter = meter.CreateCounter<double>("c");
        var histogram = meter.CreateHistogram<double>("h");
        using var session = Session.Start(new SessionRequest { Counters = { @"Meter\Clrscope.Tests.Alloc" }, Interval = TimeSpan.FromHours(1) }, onCounter: _ => { });
        object shop = "shop";
        void Record()
        {
            for (var i = 0; i < 10_000; ++i)
            {
                counter.Add(1, new KeyValuePair<string, object?>("a", shop), new KeyValuePair<string, object?>("b", shop));
                histogram.Record(i % 100, new KeyValuePair<string, object?>("a", shop));
            }
        }
        Record();
        var before = GC.GetAllocatedBytesForCurrentThread();
        Record();
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
    }

    [Fact]
    public void TheRuntimesCountersAreThereOnEveryVersion()
    {
        var got = new ConcurrentDictionary<string, bool>();
        using var session = Session.Start(new SessionRequest { Counters = { "System.Runtime" }, Interval = TimeSpan.FromMilliseconds(500) }, onCounter: v => got[v.Name] = v.IsMeter);
        if (Environment.Version.Major >= 9)
        {
            Wait.Until(() => got.ContainsKey("dotnet.gc.heap.total_allocated"), "System.Runtime's meter");
            Assert.DoesNotContain("gc-heap-size", got.Keys); // one of both
        }
        else
        {
            Wait.Until(() => got.ContainsKey("gc-heap-size"), "System.Runtime's EventCounters");
        }
    }
}
