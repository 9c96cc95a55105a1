using System.Collections.Concurrent;
using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>A context of one thread, as user interfaces have it: continuations run where they were posted.</summary>
sealed class LoopContext : SynchronizationContext
{
    readonly BlockingCollection<(SendOrPostCallback Callback, object? State)> _queue = [];

    public int Posted => _queue.Count;

    public override void Post(SendOrPostCallback callback, object? state) => _queue.Add((callback, state));

    public void Loop(Action first)
    {
        SetSynchronizationContext(this);
        first();
        foreach (var (callback, state) in _queue.GetConsumingEnumerable()) callback(state);
    }
}

/// <summary>The loop thread waits for a task whose continuation is posted to the loop thread.</summary>
static class DeadlockAsync
{
    public static void Run(Stage stage)
    {
        var context = new LoopContext();
        var worker = Stage.Start("loop", () => context.Loop(ShowPage));
        while (context.Posted == 0 && stage.Sleep(5)) { }
        Worker.AwaitBlocked([worker]);
        stage.Ready(new
        {
            thread = worker.Identity,
            method = $"{typeof(DeadlockAsync).FullName}.{nameof(ShowPage)}",
            waitsForTaskOf = $"{typeof(DeadlockAsync).FullName}.{nameof(LoadPage)}",
            context = typeof(LoopContext).FullName,
            queuedContinuations = context.Posted,
        });
        stage.WaitForEnd();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ShowPage()
    {
        if (LoadPage().Result > 0) throw new InvalidOperationException("no deadlock");
    }

    static async Task<int> LoadPage()
    {
        await Task.Delay(20);
        return 1;
    }
}
