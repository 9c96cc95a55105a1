using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Threading.Channels;

namespace Samples.Symptoms;

/// <summary>
/// Async methods that are suspended in every way there is, and what their stacks are: continuations of one task, of many, joins,
/// ContinueWith, lambdas, iterators, pooled value tasks, a blocked thread; and what the innermost one awaits.
/// </summary>
static class AsyncChains
{
    const string Source = "TaskCompletionSource";

    static readonly TaskCompletionSource<int> s_shared = new(TaskCreationOptions.RunContinuationsAsynchronously);
    static readonly SemaphoreSlim s_gate = new(1, 1);
    static readonly Channel<int> s_orders = Channel.CreateUnbounded<int>();
    static readonly List<object> s_kept = [];
    static Task? s_blocked;

    public static void Run(Stage stage)
    {
        var count = stage.Options.Plain(3);
        for (var i = 0; i < count; ++i) s_kept.Add(Outer(s_shared.Task));
        s_kept.Add(Twice(New()));
        s_kept.Add(JoinAll());
        s_kept.Add(JoinAny());
        s_kept.Add(Continued());
        s_kept.Add(Lambda());
        s_kept.Add(Consume());
        s_kept.Add(Pooled().AsTask());
        s_gate.Wait();
        for (var i = 0; i < 2; ++i) s_kept.Add(Enter());
        s_kept.Add(Sleep());
        s_kept.Add(SleepForever());
        s_kept.Add(ReadOrder());
        s_kept.Add(Accept());
        s_blocked = Outer(New());
        var blocked = Stage.Start("blocked", () => s_blocked.Wait());
        Worker.AwaitBlocked([blocked]);

        stage.Ready(new
        {
            stacks = new object[]
            {
                Stack(count, Source, nameof(Inner), nameof(Middle), nameof(Outer)),
                Stack(1, Source, nameof(Twice)),
                Stack(2, Source, nameof(Part), "Task.WhenAll", nameof(JoinAll)),
                Stack(1, Source, "Task.WhenAny", nameof(JoinAny)),
                Stack(1, "Task.Delay", "Task.WhenAny", nameof(JoinAny)),
                Stack(1, Source, "Task.ContinueWith", nameof(Continued)),
                Stack(1, Source, $"{nameof(Lambda)} (lambda)", nameof(Lambda)),
                Stack(1, Source, nameof(Produce), nameof(Consume)),
                Stack(1, Source, nameof(Pooled)),
                Stack(2, "SemaphoreSlim", nameof(Enter)),
                Stack(1, "Task.Delay", nameof(Sleep)),
                Stack(1, "Task.Delay", nameof(SleepForever)),
                Stack(1, "channel", nameof(ReadOrder)),
                Stack(1, "socket", nameof(Accept)),
                Stack(1, Source, nameof(Inner), nameof(Middle), nameof(Outer)),
            },
            blocked = blocked.Identity,
        });
        stage.WaitForEnd();
    }

    static object Stack(int count, string awaits, params string[] frames) =>
        new { count, awaits, frames = frames.Select(f => f.StartsWith("Task.", StringComparison.Ordinal) ? f : $"{typeof(AsyncChains).FullName}.{f}") };

    static Task<int> New()
    {
        var source = new TaskCompletionSource<int>();
        s_kept.Add(source);
        return source.Task;
    }

    static async Task<int> Outer(Task<int> task) => 1 + await Middle(task);

    static async Task<int> Middle(Task<int> task) => 1 + await Inner(task).ConfigureAwait(false);

    static async Task<int> Inner(Task<int> task) => 1 + await task;

    static async Task Twice(Task task)
    {
        await Task.Yield();
        await task;
    }

    static async Task JoinAll() => await Task.WhenAll(Part(New()), Part(New()), Task.CompletedTask);

    static async Task Part(Task task) => await task;

    static async Task JoinAny() => await Task.WhenAny(New(), Task.Delay(Timeout.Infinite));

    static async Task Continued() => await New().ContinueWith(_ => { }, TaskScheduler.Default);

    static async Task Lambda()
    {
        var task = New();
        Func<Task> wait = async () => await task;
        await wait();
    }

    static async Task Consume()
    {
        await foreach (var _ in Produce()) { }
    }

    static async IAsyncEnumerable<int> Produce()
    {
        yield return 1;
        yield return await New();
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    static async ValueTask Pooled() => await New();

    static async Task Enter()
    {
        await s_gate.WaitAsync();
        s_gate.Release();
    }

    static async Task Sleep() => await Task.Delay(TimeSpan.FromHours(1));

    static async Task SleepForever() => await Task.Delay(Timeout.Infinite);

    static async Task ReadOrder() => await s_orders.Reader.ReadAsync();

    static async Task Accept()
    {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        using var socket = await listener.AcceptSocketAsync(CancellationToken.None);
    }
}
