using System.Collections.Concurrent;
using System.Diagnostics.Tracing;
using Xunit;

namespace Clrscope.Tests;

/// <summary>The app's own EventListeners, and events that describe themselves.</summary>
public class NeighbourTests
{
    sealed class AppListener(EventLevel level, EventKeywords keywords) : EventListener
    {
        public readonly ConcurrentQueue<string> Got = [];

        public void Listen(EventSource source) => EnableEvents(source, level, keywords);

        protected override void OnEventWritten(EventWrittenEventArgs e)
        {
            if (e.EventSource.Name.StartsWith("Clrscope-Tests")) Got.Enqueue(e.EventName!);
        }
    }

    [Fact]
    public void ListenersOfTheAppKeepExactlyTheirEvents()
    {
        using var source = new NumberSource();
        using var app = new AppListener(EventLevel.Warning, EventKeywords.All);
        app.Listen(source);
        var got = 0;
        for (var i = 0; i < 3; ++i)
        {
            using (Session.Start(new SessionRequest { Providers = { "Clrscope-Tests-Numbers" } }, (in ClrEvent e) => ++got))
            {
                source.Far(1);
                source.Order_Start(2);
            }
            source.Order_Start(3);
        }
        Assert.Equal(Enumerable.Repeat("Order_Start", 6), app.Got);
        Assert.Equal(6, got);
        Assert.True(source.IsEnabled(EventLevel.Warning, EventKeywords.All));
    }

    [EventData]
    public sealed class Parcel
    {
        public int Weight { get; set; }

        public string To { get; set; } = "";
    }

    [Fact]
    public void EventsThatDescribeThemselvesGoToWhomAskedForThem()
    {
        using var source = new EventSource("Clrscope-Tests-Self", EventSourceSettings.EtwSelfDescribingEventFormat);
        var all = new List<string>();
        var heavy = new List<string>();
        using (Session.Start(new SessionRequest { Providers = { "Clrscope-Tests-Self:1:Warning" } }, (in ClrEvent e) => heavy.Add(e.ToString()[(e.ToString().IndexOf("Self ", StringComparison.Ordinal) + 5)..])))
        using (Session.Start(new SessionRequest { Providers = { "Clrscope-Tests-Self" }, Filter = EventFilter.Parse("Weight<10") }, (in ClrEvent e) => all.Add($"{e.Type.Name} {e[0].AsInt64()}")))
        {
            source.Write("Parcel", new EventSourceOptions { Level = EventLevel.Warning, Keywords = (EventKeywords)1 }, new Parcel { Weight = 5, To = "a" });
            source.Write("Parcel", new EventSourceOptions { Level = EventLevel.Informational, Keywords = (EventKeywords)1 }, new Parcel { Weight = 6, To = "b" });
            source.Write("Parcel", new EventSourceOptions { Level = EventLevel.Warning, Keywords = (EventKeywords)2 }, new Parcel { Weight = 70, To = "c" });
            source.Write("Letter", new EventSourceOptions { Level = EventLevel.Warning, Keywords = (EventKeywords)1 }, new { Pages = 3 });
            source.Write("Parcel", new EventSourceOptions { Level = EventLevel.Warning, Keywords = (EventKeywords)1 }, new Parcel { Weight = 8, To = "d" });
        }
        Assert.Equal(["Parcel Weight=\"5\" To=\"a\"", "Letter Pages=\"3\"", "Parcel Weight=\"8\" To=\"d\""], heavy);
        Assert.Equal(["Parcel 5", "Parcel 6", "Parcel 8"], all);
    }

    [Fact]
    public void NamesWithoutEndAreHandedOutAndNotKept()
    {
        using var source = new EventSource("Clrscope-Tests-Endless", EventSourceSettings.EtwSelfDescribingEventFormat);
        var names = new HashSet<string>();
        using (Session.Start(new SessionRequest { Providers = { "Clrscope-Tests-Endless" }, Filter = EventFilter.Parse("Pages>=0") }, (in ClrEvent e) => names.Add(e.Type.Name)))
            for (var i = 0; i < EventTypes.MostNames + 500; ++i) source.Write($"Letter{i}", new { Pages = i });
        Assert.Equal(EventTypes.MostNames + 500, names.Count);
    }

    [EventSource(Name = "Clrscope-Tests-Arguments")]
    sealed class ArgumentSource : EventSource
    {
        public readonly ConcurrentQueue<string> Commands = [];

        [Event(1)]
        public void Said(int number) => WriteEvent(1, number);

        protected override void OnEventCommand(EventCommandEventArgs command) =>
            Commands.Enqueue($"{command.Command} {(command.Arguments?.TryGetValue("mode", out var mode) == true ? mode : "")}".Trim());
    }

    [Fact]
    public void ArgumentsReachTheProviderAndEventsComeOnce()
    {
        using var source = new ArgumentSource();
        var got = new int[3];
        using (Session.Start(new SessionRequest { Providers = { "Clrscope-Tests-Arguments:1:4:mode=a" } }, (in ClrEvent e) => ++got[0]))
        using (Session.Start(new SessionRequest { Providers = { "Clrscope-Tests-Arguments:1:4:mode=b" } }, (in ClrEvent e) => ++got[1]))
        using (Session.Start(new SessionRequest { Providers = { "Clrscope-Tests-Arguments:1:4:mode=a", "Clrscope-*" } }, (in ClrEvent e) => ++got[2]))
            source.Said(1);
        Assert.Equal([1, 1, 1], got);
        Assert.Equal(["Enable a", "Enable b"], source.Commands.Where(c => c.StartsWith("Enable")).Take(2));
        Assert.False(source.IsEnabled());
    }

    [Fact]
    public void SourcesAndSessionsMayBeMadeByManyThreadsAtOnce()
    {
        var got = 0;
        var sessions = new Thread(() =>
        {
            for (var i = 0; i < 200; ++i) Session.Start(new SessionRequest { Providers = { "Clrscope-Crowd-*", "Clrscope-C*:1:1:a=b" } }, (in ClrEvent e) => { }).Dispose();
        });
        using (Session.Start(new SessionRequest { Providers = { "Clrscope-Crowd-*" } }, (in ClrEvent e) => Interlocked.Increment(ref got)))
        {
            var sources = Enumerable.Range(0, 2).Select(t => new Thread(() =>
            {
                for (var i = 0; i < 100; ++i)
                {
                    using var source = new NumberSource($"Clrscope-Crowd-{t}-{i}");
                    source.Far(i);
                }
            })).ToArray();
            sessions.Start();
            foreach (var thread in sources) thread.Start();
            foreach (var thread in sources) Assert.True(thread.Join(60_000), "stuck");
            Assert.True(sessions.Join(60_000), "stuck");
        }
        Assert.Equal(200, got);
        Assert.Empty(Session.ActiveProviders);
    }

    [Fact]
    public void AddsNoAllocationToWhatAListenerCosts()
    {
        using var source = new NumberSource();
        const int Times = 20_000;
        long sum = 0;

        long plain, ours;
        using (var listener = new CountingListener())
        {
            listener.EnableEvents(source, EventLevel.Informational, EventKeywords.All);
            plain = Allocated();
        }
        var request = new SessionRequest { Providers = { "Clrscope-Tests-Numbers:ffff:Informational" }, Filter = EventFilter.Parse("number>=0 text!=other tid>0") };
        using (Session.Start(request, (in ClrEvent e) => sum += e[0].AsInt64() + e["text"].AsString().Length + e.ThreadId))
        using (Session.Start(request, (in ClrEvent e) => sum += e.Timestamp.Ticks, options: new SessionOptions { QueueCapacity = 1 << 16 }))
        using (Session.Start(new SessionRequest { Providers = { "Clrscope-Tests-Numbers:ffff:Informational" }, Filter = EventFilter.Parse("number<0") }, (in ClrEvent e) => ++sum))
            ours = Allocated();
        Assert.NotEqual(0, sum);
        // The runtime's own: arguments, payload, boxes. The smallest object for each event would be 24 times the events.
        Assert.InRange(ours, 0, plain + Times / 10);
        Assert.InRange(plain, Times, long.MaxValue);
        Assert.Equal(0, Allocated()); // nobody listens

        long Allocated()
        {
            for (var i = 0; i < 1000; ++i) source.Even(i, "text");
            var before = GC.GetAllocatedBytesForCurrentThread();
            for (var i = 0; i < Times; ++i) source.Even(i, "text");
            return GC.GetAllocatedBytesForCurrentThread() - before;
        }
    }

    sealed class CountingListener : EventListener
    {
        long _sum;

        protected override void OnEventWritten(EventWrittenEventArgs e)
        {
            if (e.EventId == 1) _sum += (long)e.Payload![0]! + ((string)e.Payload[1]!).Length;
        }
    }
}
