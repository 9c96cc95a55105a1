using System.Collections.Concurrent;
using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>
/// The twin of the blocked ones: waits that are long but move. A lock changes hands every 200 ms, consumers sleep until work comes,
/// a thread blocks on one task after the other, threads come and go.
/// </summary>
static class HealthyWaits
{
    static readonly object s_lock = new();
    static long s_turns, s_consumed, s_waited, s_ended;

    public static void Run(Stage stage)
    {
        var work = new BlockingCollection<int>();
        for (var i = 0; i < 2; ++i) stage.Work($"turn-{i}", () => { while (!stage.Ending) TakeTurn(); });
        for (var i = 0; i < 8; ++i) Stage.Start($"consumer-{i}", () => Consume(work));
        stage.Work("producer", () => stage.Every(2, () => work.Add(1)));
        stage.Work("waiter", () => { while (!stage.Ending) WaitForTask(); });
        stage.Work("starter", () => stage.Every(5, ComeAndGo));
        while ((Interlocked.Read(ref s_waited) < 2 || Interlocked.Read(ref s_turns) < 4) && stage.Sleep(10)) { }
        stage.Ready(new { healthy = true, turnMs = 200, consumers = 8, tasksPerSecond = 4, threadsPerSecond = 5 });
        stage.FinishWork();
        stage.Done(new { turns = s_turns, consumed = s_consumed, waited = s_waited, ended = s_ended });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void TakeTurn()
    {
        lock (s_lock)
        {
            Interlocked.Increment(ref s_turns);
            Thread.Sleep(200);
        }
        Thread.Sleep(150);  // most turns meet nobody in the queue
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Consume(BlockingCollection<int> work)
    {
        foreach (var one in work.GetConsumingEnumerable()) Interlocked.Add(ref s_consumed, one);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void WaitForTask()
    {
        Task.Delay(250).Wait();
        Interlocked.Increment(ref s_waited);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ComeAndGo() => new Thread(() => Interlocked.Increment(ref s_ended), 256 * 1024) { IsBackground = true }.Start();
}
