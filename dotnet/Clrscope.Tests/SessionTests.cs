using System.Diagnostics.Tracing;
using Xunit;

namespace Clrscope.Tests;

public class SessionTests
{
    const string Numbers = "Clrscope-Tests-Numbers";

    [Fact]
    public void EnablesNothingUntilSomebodyListens()
    {
        using var source = new NumberSource();
        Assert.False(source.IsEnabled());
        Assert.Empty(Session.ActiveProviders);
        using (Session.Start(new SessionRequest { Providers = { $"{Numbers}:1:Warning" } }))
        using (Session.Start(new SessionRequest { Providers = { $"{Numbers}:2:Informational", "Other" } }))
        {
            var request = Assert.Single(Session.ActiveProviders);
            Assert.Equal((Numbers, 3UL, EventLevel.Informational), (request.Name, request.Keywords, request.Level));
            Assert.True(source.IsEnabled(EventLevel.Informational, (EventKeywords)2));
            Assert.False(source.IsEnabled(EventLevel.Verbose, (EventKeywords)2));
        }
        Assert.Empty(Session.ActiveProviders);
        Assert.False(source.IsEnabled());
    }

    [Fact]
    public void TellsNamesTypesAndValues()
    {
        using var source = new NumberSource();
        var seen = new List<string>();
        var id = Guid.NewGuid();
        var before = DateTime.UtcNow;
        using (Session.Start(new SessionRequest { Providers = { Numbers } }, (in ClrEvent e) =>
        {
            Assert.InRange(e.Timestamp, before, DateTime.UtcNow);
            Assert.True(e.ThreadId > 0);
            seen.Add($"{e.Type.Name} {e.Type.Id} {e.Type.Keywords:x} {string.Join(',', e.Type.Fields)} {e[0].AsInt64()} {e[e.Count - 1]}");
            if (e.Type.Name == "Order/Stop") Assert.True(e["paid"].AsBool() && e["id"].AsGuid() == id);
        }))
        {
            source.Even(-7, "a b");
            source.Third(3, 1.5);
            source.OrderStop(8, true, id);
            source.Far(9);
        }
        Assert.Equal(
            [
                "Even 1 1 number:Int,text:Text -7 a b",
                "Third 3 0 number:Int,half:Double 3 1.5",
                $"Order/Stop 5 0 order:Int,paid:Bool,id:Guid 8 {id}",
                "Far 2000 0 number:Int 9 9",
            ],
            seen);
    }

    [Fact]
    public void HandsTheExactSetToEachWhileOthersComeAndGo()
    {
        using var source = new NumberSource();
        (string Request, string Where, Func<long, IEnumerable<string>> Expected)[] kinds =
        [
            (Numbers, "", n => Names(n)),
            ($"{Numbers}:1:Informational", "", n => Names(n).Where(name => name == "Even")),
            ($"{Numbers}:2:Verbose", "", n => Names(n).Where(name => name != "Even")),
            ($"{Numbers}:0:Verbose", "", n => Names(n).Where(name => name == "Third")),
            ("Clrscope-T*", "name=Odd number>=1000", n => Names(n).Where(name => name == "Odd" && n >= 1000)),
            (Numbers, "text=te?t id!=2", n => Names(n).Where(name => name == "Even")),
        ];
        var stop = false;
        var emitted = 0L;
        var emitter = new Thread(() =>
        {
            while (!Volatile.Read(ref stop))
            {
                source.Emit(emitted);
                Volatile.Write(ref emitted, emitted + 1);
            }
        }) { IsBackground = true };
        var stable = kinds.Select(kind => new Collector(kind.Request, kind.Where)).ToArray();
        emitter.Start();
        for (var round = 0; round < 100; ++round)
        {
            var kind = kinds[round % kinds.Length];
            var before = Volatile.Read(ref emitted);
            using var other = round % 2 == 0 ? new Collector(kind.Request, kind.Where, queue: 1 << 16) : null;
            var guest = new Collector(kind.Request, kind.Where);
            var joined = Volatile.Read(ref emitted) + 1; // whatever is made after this number is the guest's
            Wait.Until(() => Volatile.Read(ref emitted) > joined + 20, "events");
            var last = Volatile.Read(ref emitted) - 1; // made before it leaves
            guest.Dispose();
            guest.MustHave(kind.Expected, joined, last);
            Assert.True(guest.First is null || guest.First >= before, "an event from before it came");
        }
        Volatile.Write(ref stop, true);
        emitter.Join();
        for (var i = 0; i < kinds.Length; ++i)
        {
            stable[i].Dispose();
            stable[i].MustHave(kinds[i].Expected, 0, emitted - 1);
            Assert.Equal(0, stable[i].Session.Dropped);
        }
        Assert.Empty(Session.ActiveProviders);

        static IEnumerable<string> Names(long n) => n % 3 == 0 ? [n % 2 == 0 ? "Even" : "Odd", "Third"] : [n % 2 == 0 ? "Even" : "Odd"];
    }

    sealed class Collector : IDisposable
    {
        readonly List<(string Name, long Number)> _got = [];

        public Collector(string request, string where, int queue = 0) =>
            Session = Session.Start(new SessionRequest { Providers = { request }, Filter = EventFilter.Parse(where) }, (in ClrEvent e) => _got.Add((e.Type.Name, e["number"].AsInt64())),
                options: new SessionOptions { QueueCapacity = queue });

        public Session Session { get; }

        public long? First => _got.Count == 0 ? null : _got[0].Number;

        public void Dispose() => Session.Dispose();

        /// <summary>All of these numbers, in order, none twice; and no others but numbers next to them.</summary>
        public void MustHave(Func<long, IEnumerable<string>> expected, long first, long last)
        {
            Assert.Equal(0, Session.Failures);
            long from = Math.Min(first, First ?? first), to = _got.Count == 0 ? last : Math.Max(last, _got[^1].Number);
            var all = new List<(string, long)>();
            for (var n = from; n <= to; ++n) all.AddRange(expected(n).Select(name => (name, n)));
            // It may have come or gone in the middle of a number.
            var begin = _got.Count == 0 ? 0 : Math.Max(0, all.IndexOf(_got[0]));
            var wanted = all.Skip(begin).Take(_got.Count).ToList();
            Assert.Equal(wanted, _got);
            Assert.DoesNotContain(all.Take(begin), one => one.Item2 >= first);
            Assert.DoesNotContain(all.Skip(begin + _got.Count), one => one.Item2 <= last);
        }
    }

    [Fact]
    public void SlowListenerLosesItsOwnOnlyAndIsTold()
    {
        using var source = new NumberSource();
        using var gate = new ManualResetEventSlim();
        long slow = 0, fast = 0;
        var request = new SessionRequest { Providers = { Numbers }, Filter = EventFilter.Parse("name=Far") };
        using var fastSession = Session.Start(request, (in ClrEvent e) => ++fast);
        using (var session = Session.Start(request, (in ClrEvent e) =>
        {
            gate.Wait();
            ++slow;
        }, options: new SessionOptions { QueueCapacity = 128, DrainTimeout = TimeSpan.FromSeconds(60) }))
        {
            for (var i = 0; i < 10_000; ++i) source.Far(i);
            Assert.InRange(session.Dropped, 10_000 - 129, 10_000 - 128); // one may be in its hands
            gate.Set();
            session.Dispose();
            Assert.Equal(10_000, slow + session.Dropped);
            Assert.Equal(slow, session.Delivered);
        }
        Assert.Equal(10_000, fast);
        Assert.Equal(0, fastSession.Dropped);
    }

    [Fact]
    public void EndsThoughItsHandlerHangs()
    {
        using var source = new NumberSource();
        using var gate = new ManualResetEventSlim();
        var session = Session.Start(new SessionRequest { Providers = { Numbers } }, (in ClrEvent e) => gate.Wait(), options: new SessionOptions { QueueCapacity = 64, DrainTimeout = TimeSpan.FromMilliseconds(100) });
        for (var i = 0; i < 10; ++i) source.Far(i);
        session.Dispose();
        Assert.Equal(0, session.Delivered);
        gate.Set();
        Wait.Until(() => session.Delivered + session.Dropped == 10, "all of them counted");
        Assert.Equal(1, session.Delivered); // the one in its hands
    }

    [Fact]
    public void QueueKeepsOrderThreadAndActivityOfManyThreads()
    {
        using var source = new NumberSource();
        var got = new Dictionary<long, List<long>>();
        var session = Session.Start(new SessionRequest { Providers = { Numbers }, Filter = EventFilter.Parse("name=Even") }, (in ClrEvent e) =>
        {
            if (!got.TryGetValue(e.ThreadId, out var numbers)) got[e.ThreadId] = numbers = [];
            numbers.Add(e[0].AsInt64());
        }, options: new SessionOptions { QueueCapacity = 1 << 18, DrainTimeout = TimeSpan.FromSeconds(60) });
        var threads = Enumerable.Range(0, 4).Select(t => new Thread(() =>
        {
            for (var i = 0; i < 20_000; ++i) source.Even(t * 100_000 + i, "");
        })).ToArray();
        foreach (var thread in threads) thread.Start();
        foreach (var thread in threads) thread.Join();
        session.Dispose();
        Assert.Equal(0, session.Dropped);
        Assert.Equal(4, got.Count);
        foreach (var numbers in got.Values) Assert.Equal(Enumerable.Range((int)numbers[0], 20_000).Select(n => (long)n), numbers);
    }

    [Fact]
    public void FindsProvidersThatComeLater()
    {
        var got = new List<string>();
        using (Session.Start(new SessionRequest { Providers = { "Clrscope-Later-*:ffffffff:Informational" } }, (in ClrEvent e) => got.Add($"{e.Type.Provider} {e[0]}")))
        {
            using var first = new NumberSource("Clrscope-Later-1");
            first.Far(1); // its first event is not missed
            using var second = new NumberSource("Clrscope-Later-2");
            second.Far(2);
            first.Far(3);
        }
        Assert.Equal(["Clrscope-Later-1 1", "Clrscope-Later-2 2", "Clrscope-Later-1 3"], got);
    }

    [Fact]
    public void AsksForIdsExactly()
    {
        using var source = new NumberSource();
        var got = 0;
        using (Session.Start(new SessionRequest { Providers = { new ProviderRequest(Numbers) { Ids = [2, 2000] } } }, (in ClrEvent e) => ++got))
        {
            source.Even(0, "");
            source.Odd(1, "");
            source.Far(1);
        }
        Assert.Equal(2, got);
    }

    [Fact]
    public void HandlerThatFailsHurtsNobody()
    {
        using var source = new NumberSource();
        var others = 0;
        var request = new SessionRequest { Providers = { Numbers } };
        using var bad = Session.Start(request, (in ClrEvent e) => throw new InvalidOperationException("mine"));
        using var good = Session.Start(request, (in ClrEvent e) => ++others);
        for (var i = 0; i < 10; ++i) source.Far(i);
        Assert.Equal((10, 10L, "mine"), (others, bad.Failures, bad.LastFailure?.Message));
    }

    [Fact]
    public void HandlerThatMakesEventsIsNotCalledForThem()
    {
        using var source = new NumberSource();
        var got = new List<long>();
        var others = 0;
        var request = new SessionRequest { Providers = { Numbers } };
        using var session = Session.Start(request, (in ClrEvent e) =>
        {
            got.Add(e[0].AsInt64());
            source.Far((int)e[0].AsInt64() + 1000);
        });
        using (Session.Start(request, (in ClrEvent e) => ++others)) source.Far(1);
        Assert.Equal([1L], got);
        Assert.Equal(1, session.Dropped);
        Assert.Equal(2, others);
    }

    [Fact]
    public void MayEndItselfInItsHandler()
    {
        using var source = new NumberSource();
        foreach (var queue in new[] { 0, 16 })
        {
            var got = 0;
            Session? session = null;
            session = Session.Start(new SessionRequest { Providers = { Numbers }, Filter = EventFilter.Parse("name=Far") }, (in ClrEvent e) =>
            {
                Interlocked.Increment(ref got);
                session!.Dispose();
            }, options: new SessionOptions { QueueCapacity = queue });
            source.Far(1);
            Wait.Until(() => Volatile.Read(ref got) == 1 && Session.ActiveProviders.Count == 0, "the end of the session");
            source.Far(2);
            Assert.Equal(1, got);
        }
    }
}
