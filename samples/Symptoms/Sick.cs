using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>Several symptoms at once, each modest: the patient of the guided tour.</summary>
static class Sick
{
    static object? s_last;

    public static void Run(Stage stage)
    {
        var deadlock = DeadlockMonitor.Close(stage, [new Account(), new Account()]);
        var ledger = new Ledger();
        long acquisitions0 = 0, acquisitions1 = 0, thrown = 0, rounds = 0;
        var hot = stage.Work("hot-path", () => HotPath(stage));
        stage.Work("orders", () => stage.Every(50, () => Exceptions.HandleOrder(thrown++)));
        stage.Work("clerk-0", () => stage.Every(100, () => Contention.Book(ledger, 5, ref acquisitions0)));
        stage.Work("clerk-1", () => stage.Every(100, () => Contention.Book(ledger, 5, ref acquisitions1)));
        stage.Work("allocator", () => stage.Every(200, () => Allocate(ref rounds)));
        stage.Sleep(500);
        stage.Ready(new
        {
            deadlock,
            hotPath = new { method = Name(nameof(PriceOrder)), caller = Name(nameof(HotPath)), thread = hot.Identity, percentOfOneCpu = 30 },
            exceptions = new { perSecond = 50, types = new[] { typeof(OrderRejectedException).FullName, typeof(FormatException).FullName } },
            contention = new { lockType = typeof(Ledger).FullName, method = $"{typeof(Contention).FullName}.{nameof(Contention.Book)}", threads = 2 },
            allocation = new { method = Name(nameof(Allocate)), bytesPerSecond = 20_480_000 },
        });
        stage.FinishWork();
        stage.Done(new { thrown, contentions = Monitor.LockContentionCount, acquisitions = acquisitions0 + acquisitions1, allocatedBytes = rounds * 100 * 1024 });
    }

    static string Name(string method) => $"{typeof(Sick).FullName}.{method}";

    static void HotPath(Stage stage)
    {
        var value = 1u;
        do
        {
            var start = Stopwatch.GetTimestamp();
            while (Stopwatch.GetElapsedTime(start).TotalMilliseconds < 6) value = PriceOrder(value);
        } while (stage.Sleep(14));
        GC.KeepAlive(value);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static uint PriceOrder(uint value)
    {
        for (var i = 0; i < 50_000; ++i) value = (value ^ (value >> 13)) * 0x9E3779B1;
        return value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Allocate(ref long rounds)
    {
        for (var i = 0; i < 100; ++i) s_last = new byte[1000];
        ++rounds;
    }
}
