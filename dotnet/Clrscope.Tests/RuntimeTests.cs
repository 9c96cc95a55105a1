using System.Collections.Concurrent;
using System.Diagnostics.Tracing;
using Xunit;

namespace Clrscope.Tests;

/// <summary>The runtime's own events, on the runtime that runs the tests.</summary>
public class RuntimeTests
{
    sealed class Refused(string message) : Exception(message);

    static void Throw(string message)
    {
        try
        {
            throw new Refused(message);
        }
        catch (Refused) { }
    }

    [Fact]
    public void CollectionsHaveNamesTypesAndReasons()
    {
        var seen = new ConcurrentQueue<(string Name, long Depth, string Reason, FieldKind Kind, DateTime Time, long Thread)>();
        var before = DateTime.UtcNow;
        var full = GC.CollectionCount(2);
        using (Session.Start(new SessionRequest { Providers = { "Microsoft-Windows-DotNETRuntime:gc:Informational" }, Filter = EventFilter.Parse("name=GC/Start Depth=2 Reason=Induced") },
            (in ClrEvent e) => seen.Enqueue((e.Type.Name, e["Depth"].AsInt64(), e["Reason"].ToString(), e.Type.Fields[e.Type.IndexOf("Depth")].Kind, e.Timestamp, e.ThreadId))))
        {
            GC.Collect(0); // does not pass, unless memory is scarce: the runtime then makes it a full one
            GC.Collect(2, GCCollectionMode.Forced, blocking: true);
            Wait.Until(() => !seen.IsEmpty, "GC/Start");
        }
        Assert.InRange(seen.Count, 1, GC.CollectionCount(2) - full);
        var one = seen.Last();
        Assert.All(seen, e => Assert.Equal((2L, "Induced"), (e.Depth, e.Reason)));
        Assert.Equal(("GC/Start", 2L, "Induced", FieldKind.Int), (one.Name, one.Depth, one.Reason, one.Kind));
        Assert.InRange(one.Time, before.AddSeconds(-1), DateTime.UtcNow.AddSeconds(1)); // two clocks
        Assert.True(one.Thread > 0);
    }

    [Fact]
    public void EachSessionGetsItsShareOfTheRuntimesEvents()
    {
        var messages = new ConcurrentQueue<string>();
        var collections = 0;
        using var exceptions = Session.Start(
            new SessionRequest { Providers = { "Microsoft-Windows-DotNETRuntime:exception:Error" }, Filter = EventFilter.Parse("name=Exception/Start ExceptionType=*Refused") },
            (in ClrEvent e) => messages.Enqueue(e["ExceptionMessage"].AsString()));
        using (var gc = Session.Start(new SessionRequest { Providers = { "Microsoft-Windows-DotNETRuntime:gc:4" } }, (in ClrEvent e) =>
        {
            Assert.StartsWith("GC/", e.Type.Name);
            if (e.Type.Name == "GC/Start") Interlocked.Increment(ref collections);
        }))
        {
            Assert.Equal(1, exceptions.RuntimeRestarts); // the second wanted more than the first
            for (var i = 0; i < 20; ++i) Throw($"{i}");
            for (var i = 0; i < 5; ++i) GC.Collect();
            Wait.Until(() => messages.Count >= 20 && Volatile.Read(ref collections) >= 5, "exceptions and collections");
            Assert.Equal(0, gc.Failures);
        }
        // Nobody wants collections now; asking for less would lose some of what the other gets.
        for (var i = 20; i < 40; ++i) Throw($"{i}");
        Wait.Until(() => messages.Count >= 40, "more exceptions");
        Assert.Equal(Enumerable.Range(0, 40).Select(i => $"{i}"), messages);
        Assert.Equal(1, exceptions.RuntimeRestarts);
    }

    [Fact]
    public void SessionsThatAskForNoMoreDisturbNobody()
    {
        var messages = new ConcurrentQueue<string>();
        SessionRequest request = new() { Providers = { "Microsoft-Windows-DotNETRuntime:exception+gc:4" }, Filter = EventFilter.Parse("ExceptionType=*Refused name=Exception/Start") };
        using var steady = Session.Start(request, (in ClrEvent e) => messages.Enqueue(e["ExceptionMessage"].AsString()));
        for (var i = 0; i < 100; ++i)
        {
            using var guest = Session.Start(request, (in ClrEvent e) => { });
            Throw($"{i}");
        }
        Wait.Until(() => messages.Count >= 100, "exceptions");
        Assert.Equal(Enumerable.Range(0, 100).Select(i => $"{i}"), messages);
        Assert.Equal(0, steady.RuntimeRestarts);
    }

    /// <summary>Throws exceptions with numbers until it is disposed, and looks at those that came for holes.</summary>
    sealed class Numbered : IDisposable
    {
        readonly Thread _thrower;
        volatile bool _stop;
        long _thrown, _last;
        public readonly Session Session;
        public long Got, Missing, Holes;

        public Numbered()
        {
            Session = Session.Start(new SessionRequest { Providers = { "Microsoft-Windows-DotNETRuntime:exception:Error" }, Filter = EventFilter.Parse("name=Exception/Start ExceptionType=*Refused") }, (in ClrEvent e) =>
            {
                var number = long.Parse(e["ExceptionMessage"].AsString());
                if (number != _last + 1) Holes++;
                Missing += number - _last - 1;
                _last = number;
                Interlocked.Increment(ref Got);
            });
            _thrower = new Thread(() =>
            {
                while (!_stop)
                {
                    for (var i = 0; i < 20; ++i) Throw($"{++_thrown}");
                    Thread.Sleep(1); // the runtime keeps 10 MB at most
                }
            });
            _thrower.Start();
        }

        public void AwaitMore(int count = 50)
        {
            var enough = Interlocked.Read(ref Got) + count;
            Wait.Until(() => Interlocked.Read(ref Got) >= enough, "numbers");
        }

        public void Dispose()
        {
            _stop = true;
            _thrower.Join();
            Session.Dispose();
        }
    }

    [Fact]
    public void OtherSessionsThatComeWidenAndGoLoseNoEventOfTheRuntime()
    {
        using var numbers = new Numbered();
        using var source = new NumberSource();
        for (var i = 0; i < 20; ++i)
        {
            numbers.AwaitMore();
            using (Session.Start(new SessionRequest { Counters = { @"EventCounters\Clrscope-Tests-Numbers" } }))
            using (Session.Start(new SessionRequest { Providers = { "Clrscope-Tests-Numbers:1:4" } }))
            using (Session.Start(new SessionRequest { Providers = { "Clrscope-Tests-Numbers:3:5", $"Clrscope-Tests-N*:1:4:mode={i}" } }))
                numbers.AwaitMore();
        }
        numbers.AwaitMore();
        Assert.Equal((0L, 0L), (numbers.Missing, numbers.Session.RuntimeRestarts));
    }

    [Fact]
    public void WhatWideningLosesOfTheRuntimesEventsIsToldToTheOthers()
    {
        using var numbers = new Numbered();
        numbers.AwaitMore();
        ulong[] keywords = [0x1, 0x4000, 0x10000, 0x10];
        var guests = new List<Session>();
        foreach (var more in keywords)
        {
            guests.Add(Session.Start(new SessionRequest { Providers = { $"Microsoft-Windows-DotNETRuntime:{more:x}:4" } }, (in ClrEvent e) => { }));
            numbers.AwaitMore();
        }
        Assert.Equal(keywords.Length, numbers.Session.RuntimeRestarts);
        Assert.InRange(numbers.Holes, 0, keywords.Length);
        foreach (var guest in guests) guest.Dispose();
        numbers.AwaitMore();
        Assert.Equal(keywords.Length, numbers.Session.RuntimeRestarts);
        Assert.InRange(numbers.Holes, 0, keywords.Length);
    }

    sealed class AppListener : EventListener;

    [Fact]
    public void WhatListenersOfTheAppLoseOfTheRuntimesEventsIsTold()
    {
        using var numbers = new Numbered();
        numbers.AwaitMore();
        var source = EventSource.GetSources().Single(s => s.Name == ProviderRequest.Runtime);
        var expected = 0;
        for (var i = 0; i < 3; ++i)
        {
            var app = new AppListener();
            foreach (var act in new Action[] { () => app.EnableEvents(source, EventLevel.Error, (EventKeywords)0x8000), () => app.DisableEvents(source), app.Dispose })
            {
                act();
                ++expected;
                Wait.Until(() => numbers.Session.RuntimeRestarts >= expected, $"restart {expected}");
                numbers.AwaitMore();
            }
        }
        Assert.Equal(expected, numbers.Session.RuntimeRestarts);
        Assert.InRange(numbers.Holes, 0, expected);
    }

    [Fact]
    public void NothingOfTheRuntimeIsOnWhenNobodyListens()
    {
        var source = EventSource.GetSources().Single(s => s.Name == ProviderRequest.Runtime);
        using (Session.Start(new SessionRequest { Providers = { "Microsoft-Windows-DotNETRuntime:gc" } })) Assert.True(source.IsEnabled());
        Wait.Until(() => !source.IsEnabled(), "the end of the runtime's own session"); // by a thread of its own
    }

    [Fact]
    public void HandlersMayStartAndEndSessionsOnTheRuntimesThread()
    {
        var done = false;
        Session? first = null, second = null;
        first = Session.Start(new SessionRequest { Providers = { "Microsoft-Windows-DotNETRuntime:exception:4" }, Filter = EventFilter.Parse("ExceptionType=*Refused name=Exception/Start") }, (in ClrEvent e) =>
        {
            if (second is not null) return;
            second = Session.Start(new SessionRequest { Providers = { "Microsoft-Windows-DotNETRuntime:gc+exception:4" } }, (in ClrEvent _) => { });
            first!.Dispose();
            second.Dispose();
            Volatile.Write(ref done, true);
        });
        Throw("begin");
        Wait.Until(() => Volatile.Read(ref done), "the end of both");
        Assert.Equal((0L, null), (first.Failures, first.LastFailure));
        Assert.Empty(Session.ActiveProviders);
    }

    [Fact]
    public void TableKnowsTheRuntimesNames()
    {
        Assert.Equal("GC/Start", EventTable.Runtime.Find(1, 2)?.Name);
        Assert.Equal("GC/AllocationTick", EventTable.Runtime.Find(10, 4)?.Name);
        Assert.Equal("Exception/Start", EventTable.Runtime.Find(80, 1)?.Name);
        Assert.Equal(0x8000UL, EventTable.Runtime.Keyword("exception"));
        Assert.Equal(["Count", "Depth", "Reason", "Type", "ClrInstanceID", "ClientSequenceNumber"], EventTable.Runtime.Find(1, 9)!.Fields.Select(f => f.Name));
    }

    [Fact]
    public void MethodFlagsAreTakenApart()
    {
        var tiers = new ConcurrentDictionary<string, string>();
        using (Session.Start(new SessionRequest { Providers = { "Microsoft-Windows-DotNETRuntime:jit:Verbose" }, Filter = EventFilter.Parse("name=Method/LoadVerbose") },
            (in ClrEvent e) => tiers[e["MethodName"].AsString()] = e["OptimizationTier"].ToString()))
        {
            CompiledNow<int>();
            Wait.Until(() => tiers.ContainsKey(nameof(CompiledNow)), "a method");
        }
        Assert.Contains(tiers[nameof(CompiledNow)], new[] { "QuickJitted", "MinOptJitted", "OptimizedTier1", "Optimized" });
    }

    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    static void CompiledNow<T>() => GC.KeepAlive(typeof(T));
}
