using System.Net;
using System.Net.Sockets;
using System.Threading.Channels;

namespace Samples.Symptoms;

/// <summary>
/// The twin of stuck tasks and of async deadlocks: a server that accepts, timers that sleep, consumers of an empty channel and of a
/// semaphore that nobody signals, a shutdown that has not come; and requests that wait for replies and for each other, and move.
/// </summary>
static class HealthyAsync
{
    sealed class Shelf
    {
        public readonly SemaphoreSlim Gate = new(1, 1);
        public long Taken;
    }

    static readonly TaskCompletionSource s_shutdown = new();
    static readonly SemaphoreSlim s_signal = new(0);
    static readonly Channel<int> s_orders = Channel.CreateUnbounded<int>();
    static readonly Queue<TaskCompletionSource<int>> s_asked = new();
    static readonly List<object> s_kept = [];
    static long s_replies;

    public static void Run(Stage stage)
    {
        Shelf first = new(), second = new();
        s_kept.Add(AwaitShutdown());
        for (var i = 0; i < 8; ++i) s_kept.Add(ConsumeSignals());
        for (var i = 0; i < 8; ++i) s_kept.Add(ConsumeOrders());
        for (var i = 0; i < 8; ++i) s_kept.Add(SleepLong());
        s_kept.Add(Accept());
        for (var i = 0; i < 20; ++i) s_kept.Add(AskForEver(stage));
        for (var i = 0; i < 20; ++i) s_kept.Add(TakeForEver(stage, first, second));
        stage.Work("replies", () => stage.Every(500, Reply));
        while (Interlocked.Read(ref s_replies) < 100 && stage.Sleep(10)) { }
        stage.Ready(new { healthy = true, consumers = 16, asking = 20, taking = 20 });
        stage.FinishWork();
        stage.Done(new { replies = s_replies, taken = first.Taken });
    }

    static async Task AwaitShutdown() => await s_shutdown.Task;

    static async Task ConsumeSignals()
    {
        while (true) await s_signal.WaitAsync();
    }

    static async Task ConsumeOrders()
    {
        await foreach (var _ in s_orders.Reader.ReadAllAsync()) { }
    }

    static async Task SleepLong()
    {
        while (true) await Task.Delay(TimeSpan.FromHours(1));
    }

    static async Task Accept()
    {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        while (true) (await listener.AcceptSocketAsync(CancellationToken.None)).Dispose();
    }

    static async Task AskForEver(Stage stage)
    {
        while (!stage.Ending) await Ask();
    }

    static async Task<int> Ask()
    {
        var asked = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        lock (s_asked) s_asked.Enqueue(asked);
        return await asked.Task;
    }

    static void Reply()
    {
        TaskCompletionSource<int>? asked;
        lock (s_asked) s_asked.TryDequeue(out asked);
        if (asked?.TrySetResult(1) == true) Interlocked.Increment(ref s_replies);
    }

    /// <summary>Always in the same order, so that nobody waits for itself.</summary>
    static async Task TakeForEver(Stage stage, Shelf first, Shelf second)
    {
        while (!stage.Ending)
        {
            await first.Gate.WaitAsync();
            await Task.Delay(5);
            await second.Gate.WaitAsync();
            ++first.Taken;
            await Task.Delay(5);
            second.Gate.Release();
            first.Gate.Release();
        }
    }
}
