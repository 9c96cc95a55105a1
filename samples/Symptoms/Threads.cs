using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>N threads, each --depth calls deep (Left and Right in turn), blocked in one of four ways in turn.</summary>
static class Threads
{
    const MethodImplOptions Plain = MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization;  // no tail calls
    static readonly ManualResetEvent s_event = new(false);
    static readonly SemaphoreSlim s_semaphore = new(0);
    static readonly object s_monitor = new();

    static readonly (string Name, Action Block)[] Ways =
    [
        (nameof(BlockOnEvent), BlockOnEvent),
        (nameof(BlockOnSemaphore), BlockOnSemaphore),
        (nameof(BlockOnMonitor), BlockOnMonitor),
        (nameof(BlockInSleep), BlockInSleep),
    ];

    public static void Run(Stage stage)
    {
        var depth = stage.Options.Int("depth", 20);
        var workers = new Worker[stage.Options.Plain(200)];
        for (var i = 0; i < workers.Length; ++i)
        {
            var block = Ways[i % Ways.Length].Block;
            workers[i] = Stage.Start($"blocked-{i:D4}", () => Left(depth, block));
        }
        Worker.AwaitBlocked(workers);
        stage.Ready(new
        {
            count = workers.Length,
            depth,
            frames = new[] { Name(nameof(Left)), Name(nameof(Right)) },
            methods = Ways.Select((way, w) => new { method = Name(way.Name), count = workers.Where((_, i) => i % Ways.Length == w).Count() }),
            threads = workers.Select((w, i) => new { osId = w.OsId, name = w.Thread.Name, method = Name(Ways[i % Ways.Length].Name) }),
        });
        stage.WaitForEnd();
    }

    static string Name(string method) => $"{typeof(Threads).FullName}.{method}";

    // What stands behind each call keeps it from becoming a tail call.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Left(int depth, Action block)
    {
        if (depth <= 1) block();
        return depth <= 1 ? 0 : Right(depth - 1, block) + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Right(int depth, Action block)
    {
        if (depth <= 1) block();
        return depth <= 1 ? 0 : Left(depth - 1, block) + 1;
    }

    [MethodImpl(Plain)]
    static void BlockOnEvent() => s_event.WaitOne();

    [MethodImpl(Plain)]
    static void BlockOnSemaphore() => s_semaphore.Wait();

    [MethodImpl(Plain)]
    static void BlockOnMonitor()
    {
        lock (s_monitor) Monitor.Wait(s_monitor);
    }

    [MethodImpl(Plain)]
    static void BlockInSleep() => Thread.Sleep(Timeout.Infinite);
}
