using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>Tasks of known fates, N rounds of each: quick, slow, queued behind each other, failing, awaited twice, blocked on; and three that never end.</summary>
static class Tasks
{
    const int SlowMs = 20;
    const int QueuedMs = 10;
    const int AwaitMs = 15;

    static readonly ManualResetEventSlim s_never = new();
    static readonly TaskCompletionSource<int> s_noReply = new();

    public static void Run(Stage stage)
    {
        var rounds = stage.Options.Int("count", 10);
        stage.Ready(new { rounds, slowMs = SlowMs, queuedMs = QueuedMs, awaitMs = AwaitMs });
        stage.WaitForGo();
        stage.Work("rounds", () =>
        {
            for (var i = 0; i < rounds && !stage.Ending; ++i) Round();
            StartStuck();
            StartLost();
            _ = AwaitForever();
        });
        stage.FinishWork();
        stage.Done(new
        {
            quick = rounds,
            slow = rounds,
            queued = 2 * rounds,
            failed = rounds,
            awaiting = rounds,
            neverEnded = 3,
        });
        if (stage.Stay) stage.WaitForEnd();
    }

    static void Round()
    {
        StartQuick().Wait();
        BlockOnSlow(StartSlow(Thread.CurrentThread));
        QueueTwo();
        try
        {
            StartFailing().Wait();
        }
        catch (AggregateException)
        {
            // expected: it fails
        }
        TaskCompletionSource first = new(), second = new();
        var awaiting = AwaitTwice(first.Task, second.Task);
        Thread.Sleep(AwaitMs);
        first.SetResult();  // which also begins the second await
        Thread.Sleep(AwaitMs);
        second.SetResult();
        awaiting.GetAwaiter().GetResult();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static Task StartQuick() => Task.Run(() => { });

    /// <summary>Sleeps from when the other thread waits.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static Task StartSlow(Thread waiter) => Task.Run(() =>
    {
        while ((waiter.ThreadState & ThreadState.WaitSleepJoin) == 0) Thread.Sleep(1);
        Thread.Sleep(SlowMs);
    });

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void BlockOnSlow(Task task) => task.Wait();

    /// <summary>One at a time: the second waits in the queue for as long as the first runs.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void QueueTwo()
    {
        var one = new ConcurrentExclusiveSchedulerPair().ExclusiveScheduler;
        using var both = new ManualResetEventSlim();
        var first = Task.Factory.StartNew(() =>
        {
            both.Wait();
            Thread.Sleep(QueuedMs);
        }, CancellationToken.None, TaskCreationOptions.None, one);
        var second = Task.Factory.StartNew(() => { }, CancellationToken.None, TaskCreationOptions.None, one);
        both.Set();
        Task.WaitAll(first, second);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static Task StartFailing() => Task.Run((Action)(() => throw new InvalidOperationException("on purpose")));

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task AwaitTwice(Task first, Task second)
    {
        await first;
        await second;
    }

    /// <summary>Runs and never returns.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void StartStuck()
    {
        using var running = new ManualResetEventSlim();
        _ = Task.Factory.StartNew(() =>
        {
            running.Set();
            s_never.Wait();
        }, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        running.Wait();
    }

    /// <summary>Never begins: its scheduler forgets it.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void StartLost() =>
        _ = Task.Factory.StartNew(() => { }, CancellationToken.None, TaskCreationOptions.None, new Forgetful());

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task AwaitForever() => await s_noReply.Task;

    sealed class Forgetful : TaskScheduler
    {
        protected override void QueueTask(Task task) { }
        protected override bool TryExecuteTaskInline(Task task, bool taskWasPreviouslyQueued) => false;
        protected override IEnumerable<Task> GetScheduledTasks() => [];
    }
}
