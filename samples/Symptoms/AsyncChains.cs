using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using System.Threading.Tasks.Sources;

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
    static readonly Channel<int> s_full = Channel.CreateBounded<int>(1), s_watched = Channel.CreateUnbounded<int>();
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
        s_kept.Add(Tick());
        s_kept.Add(WriteOrder());
        s_kept.Add(WatchOrders());
        using var pair = new Connected();
        s_kept.Add(Receive(pair.Server));
        s_kept.Add(ReadPipe());
        s_kept.Add(FlushPipe());
        s_kept.Add(AwaitOwnSource());
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
                Stack(1, "Task.Delay", nameof(Tick)),
                Stack(1, "channel", nameof(WriteOrder)),
                Stack(1, "channel", nameof(WatchOrders)),
                Stack(1, "socket", nameof(Receive)),
                Stack(1, "pipe", nameof(ReadPipe)),
                Stack(1, "pipe", nameof(FlushPipe)),
                Stack(1, "ValueTask source", nameof(AwaitOwnSource)),
                Stack(1, Source, nameof(Inner), nameof(Middle), nameof(Outer)),
            },
            blocked = blocked.Identity,
            remote = pair.Server.RemoteEndPoint!.ToString(),
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

    static async Task Tick()
    {
        using var timer = new PeriodicTimer(TimeSpan.FromHours(2));
        await timer.WaitForNextTickAsync();
    }

    static async Task WriteOrder()
    {
        await s_full.Writer.WriteAsync(1);
        await s_full.Writer.WriteAsync(2);
    }

    static async Task WatchOrders() => await s_watched.Reader.WaitToReadAsync();

    static async Task Receive(Socket socket) => await socket.ReceiveAsync(new byte[16].AsMemory());

    static async Task ReadPipe() => await new Pipe().Reader.ReadAsync();

    static async Task FlushPipe()
    {
        var pipe = new Pipe(new PipeOptions(pauseWriterThreshold: 10, resumeWriterThreshold: 5));
        pipe.Writer.GetMemory(100);
        pipe.Writer.Advance(100);
        await pipe.Writer.FlushAsync();
    }

    static async Task AwaitOwnSource() => await new ValueTask<int>(new OwnSource(), 0);

    sealed class OwnSource : IValueTaskSource<int>
    {
        ManualResetValueTaskSourceCore<int> _core;

        public int GetResult(short token) => _core.GetResult(token);

        public ValueTaskSourceStatus GetStatus(short token) => _core.GetStatus(token);

        public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
            _core.OnCompleted(continuation, state, token, flags);
    }

    /// <summary>Two sockets that are connected to each other.</summary>
    sealed class Connected : IDisposable
    {
        readonly Socket _client = new(SocketType.Stream, ProtocolType.Tcp);

        public Connected()
        {
            using var listener = new Socket(SocketType.Stream, ProtocolType.Tcp);
            listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            listener.Listen();
            _client.Connect(listener.LocalEndPoint!);
            Server = listener.Accept();
        }

        public Socket Server { get; }

        public void Dispose()
        {
            _client.Dispose();
            Server.Dispose();
        }
    }
}
