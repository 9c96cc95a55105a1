using System.Diagnostics.Tracing;

namespace Clrscope;

/// <summary>Receives events, on the thread that raised them, or on the session's own thread if it has a queue. The event is valid only during the call.</summary>
public delegate void ClrEventHandler(in ClrEvent e);

/// <summary>Receives counters, on a thread that collects them, or on the session's own thread if it has a queue.</summary>
public delegate void CounterHandler(CounterValue value);

/// <summary>How a session delivers events and counters.</summary>
public sealed record SessionOptions
{
    /// <summary>0: the listener is called synchronously on the thread that raises the event. Otherwise, a bounded queue of that
    /// many entries and a thread of the session's own: a slow listener loses its own events, counted in <see cref="Session.Dropped"/>.</summary>
    public int QueueCapacity { get; init; }

    /// <summary>How long <see cref="Session.Dispose"/> waits until the queue is delivered.</summary>
    public TimeSpan DrainTimeout { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>Maximum number of tag combinations per instrument of a meter.</summary>
    public int MaxSeries { get; init; } = 1000;
}

/// <summary>
/// One listener and its request. It receives exactly what it requested, independent of other sessions, from the moment
/// <see cref="Start"/> returns until <see cref="Dispose"/>. All members are thread-safe.
/// </summary>
public sealed class Session : IDisposable
{
    readonly ClrEventHandler? _onEvent;
    readonly CounterHandler? _onCounter;
    readonly SessionOptions _options;
    readonly EventQueue? _queue;
    readonly Thread? _worker;
    MeterFeed? _meters;
    volatile bool _open = true;
    volatile bool _abandoned; // the queue was not handed over in time: the rest is dropped
    int _disposed;
    long _entered, _left; // calls of handlers: the difference are those under way
    long _dropped, _failures, _restarts;
    Exception? _lastFailure;

    Session(SessionRequest request, ClrEventHandler? onEvent, CounterHandler? onCounter, SessionOptions options)
    {
        Request = request;
        _onEvent = onEvent;
        _onCounter = onCounter;
        _options = options;
        Counters = new CounterAggregate(request);
        if (options.QueueCapacity <= 0) return;
        _queue = new EventQueue(options.QueueCapacity);
        _worker = new Thread(Work) { IsBackground = true, Name = "clrscope session" };
    }

    /// <summary>Starts listening. Providers that no other session uses are enabled in the runtime.</summary>
    public static Session Start(SessionRequest request, ClrEventHandler? onEvent = null, CounterHandler? onCounter = null, SessionOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(request);
        if (request.Interval < TimeSpan.FromMilliseconds(100)) throw new ArgumentException($"the interval {request.Interval} is too short: it must be at least 0.1 s", nameof(request));
        Require("System.Diagnostics.Tracing.EventSource.IsSupported", "EventSourceSupport", request.Providers.Count > 0 || request.Counters.Any(c => c.Origin == CounterOrigin.EventCounters));
        Require("System.Diagnostics.Metrics.Meter.IsSupported", "MetricsSupport", request.Counters.Any(c => c.Origin == CounterOrigin.Meter));
        var session = new Session(request.Copy(), onEvent, onCounter, options ?? new SessionOptions());
        session._worker?.Start();
        try
        {
            Core.Shared.Join(session);
            if (session.Request.Counters.Any(c => c.MeansMeter)) session._meters = new MeterFeed(session, session._options.MaxSeries);
        }
        catch
        {
            session.Dispose();
            throw;
        }
        return session;
    }

    // Trimmed apps may have been built without: then nothing would ever come.
    static void Require(string feature, string property, bool wanted)
    {
        if (wanted && AppContext.TryGetSwitch(feature, out var on) && !on)
            throw new NotSupportedException($"this app was built without {property}: set <{property}>true</{property}> in its project");
    }

    /// <summary>Providers that are enabled in the runtime for all sessions together. Empty: nothing is enabled.</summary>
    public static IReadOnlyList<ProviderRequest> ActiveProviders => Core.Shared.ActiveProviders();

    /// <summary>The request of this session.</summary>
    public SessionRequest Request { get; }

    /// <summary>Number of events and counter values delivered to its handlers.</summary>
    public long Delivered => Volatile.Read(ref _left) - Volatile.Read(ref _failures);

    /// <summary>Number of events and counter values lost because its queue was full, or because its own handler raised them.</summary>
    public long Dropped => Volatile.Read(ref _dropped);

    /// <summary>Number of exceptions thrown by handlers. They are caught.</summary>
    public long Failures => Volatile.Read(ref _failures);

    /// <summary>The last exception thrown by a handler.</summary>
    public Exception? LastFailure => Volatile.Read(ref _lastFailure);

    /// <summary>How often the runtime restarted its own events while this session listened to them, because another session
    /// requested more of them, or because a listener of the app was added or removed: each time, events of a few milliseconds
    /// may be missing. Changes by the app are detected with the next event.</summary>
    public long RuntimeRestarts => Volatile.Read(ref _restarts);

    /// <summary>Number of tag combinations left out because there were too many.</summary>
    public long SeriesRefused => _meters?.Refused ?? 0;

    /// <summary>Ends the session. After this returns, its handlers are not called any more and none is running, and its queue has been
    /// delivered, within <see cref="SessionOptions.DrainTimeout"/>.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _disposed, 1) != 0) return;
        var deadline = Environment.TickCount64 + (long)_options.DrainTimeout.TotalMilliseconds;
        _open = false;
        _meters?.Dispose();
        Core.Shared.Leave(this);
        if (_worker is not null && Thread.CurrentThread != _worker)
        {
            _queue!.Wake();
            _abandoned = !_worker.Join(_options.DrainTimeout);
        }
        Interlocked.MemoryBarrier();
        var own = ThreadState.Current.Has(this) ? 1 : 0; // a handler that ends its session is itself under way
        var spin = new SpinWait();
        while (Volatile.Read(ref _entered) - Volatile.Read(ref _left) > own && Environment.TickCount64 < deadline) spin.SpinOnce();
    }

    internal CounterAggregate Counters { get; }
    internal List<EventLane> Lanes { get; } = []; // by Core
    internal CounterLane? CounterLane { get; set; }
    internal void NoteRestart() => Interlocked.Increment(ref _restarts);

    internal void Deliver(in ClrEvent e, ThreadState thread)
    {
        if (_onEvent is null) return;
        if (_queue is null)
        {
            Call(e, thread);
        }
        else if (_open)
        {
            _ = e.ActivityId; // the runtime looks it up on the thread that asks first: that must be this one
            if (!_queue.TryAdd(e.Args, e.Type, e.ThreadId)) Interlocked.Increment(ref _dropped);
        }
    }

    internal void Deliver(CounterValue value)
    {
        if (_onCounter is null) return;
        if (_queue is null) Call(value, ThreadState.Current);
        else if (_open && !_queue.TryAdd(value, null, 0)) Interlocked.Increment(ref _dropped);
    }

    // Whoever is counted before the session closes is waited for; who comes after that is turned back.
    bool Enter(ThreadState thread)
    {
        if (thread.Enter(this))
        {
            Interlocked.Increment(ref _entered);
            if (_open || _queue is not null) return true;
            Interlocked.Decrement(ref _entered);
            thread.Leave();
        }
        else
        {
            Interlocked.Increment(ref _dropped);
        }
        return false;
    }

    void Leave(ThreadState thread)
    {
        thread.Leave();
        Interlocked.Increment(ref _left);
    }

    void Call(in ClrEvent e, ThreadState thread)
    {
        if (!Enter(thread)) return;
        try
        {
            _onEvent!(in e);
        }
        catch (Exception failure)
        {
            Note(failure);
        }
        finally
        {
            Leave(thread);
        }
    }

    void Call(CounterValue value, ThreadState thread)
    {
        if (!Enter(thread)) return;
        try
        {
            _onCounter!(value);
        }
        catch (Exception failure)
        {
            Note(failure);
        }
        finally
        {
            Leave(thread);
        }
    }

    internal void Note(Exception failure)
    {
        Volatile.Write(ref _lastFailure, failure);
        Interlocked.Increment(ref _failures);
    }

    void Work()
    {
        var thread = ThreadState.Current;
        while (true)
        {
            while (_queue!.TryTake(out var entry))
            {
                if (_abandoned) Interlocked.Increment(ref _dropped);
                else if (entry.Item is CounterValue value) Call(value, thread);
                else Call(new ClrEvent(entry.Type!, (EventWrittenEventArgs)entry.Item!, entry.Thread), thread);
            }
            if (!_open) return;
            _queue.Sleep();
        }
    }
}
