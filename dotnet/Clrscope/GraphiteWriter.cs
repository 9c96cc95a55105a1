using System.Collections.Concurrent;
using System.Globalization;
using System.Net.Sockets;
using System.Text;

namespace Clrscope;

/// <summary>
/// Sends counters and event counts to Graphite: plaintext over TCP, one line per value. Never blocks
/// its caller: lines are queued while the server is unavailable; when the queue is full, new ones are dropped and counted.
/// </summary>
public sealed class GraphiteWriter : IDisposable
{
    readonly record struct Line(string Path, double Value, DateTime Time);

    const int MostInOneGo = 500;
    static readonly TimeSpan s_longestPause = TimeSpan.FromSeconds(5);

    readonly string _host;
    readonly int _port;
    readonly string _prefix;
    readonly int _capacity;
    readonly TimeSpan _interval;
    readonly ConcurrentQueue<Line> _lines = [];
    readonly ConcurrentDictionary<EventType, Tally> _events = [];
    readonly ManualResetEventSlim _stop = new();
    readonly AutoResetEvent _wake = new(false);
    readonly Thread _sender;
    Socket? _socket;
    DateTime _tallied = DateTime.UtcNow;
    int _waiting;
    long _sent, _dropped, _connects;
    Exception? _lastFailure;

    sealed class Tally(string path)
    {
        public readonly string Path = path;
        public long Count;
    }

    /// <summary>Connects in the background, now and whenever the connection is lost.</summary>
    /// <param name="host">Host of carbon.</param>
    /// <param name="port">Its plaintext port.</param>
    /// <param name="prefix">Prefix of every path, such as <c>shop.web1</c>.</param>
    /// <param name="capacity">Maximum number of lines queued while the server is unavailable.</param>
    /// <param name="interval">Time between event counts; one second by default.</param>
    public GraphiteWriter(string host, int port = 2003, string prefix = "", int capacity = 10_000, TimeSpan? interval = null)
    {
        _host = host;
        _port = port;
        _prefix = AppendPath(new StringBuilder(), prefix) is { Length: > 0 } path ? path.Append('.').ToString() : "";
        _capacity = capacity;
        _interval = interval ?? TimeSpan.FromSeconds(1);
        _sender = new Thread(Send) { IsBackground = true, Name = "clrscope graphite" };
        _sender.Start();
    }

    /// <summary>Number of lines written to the connection.</summary>
    public long Sent => Volatile.Read(ref _sent);

    /// <summary>Number of lines dropped because the queue was full.</summary>
    public long Dropped => Volatile.Read(ref _dropped);

    /// <summary>Number of connections made.</summary>
    public long Connects => Volatile.Read(ref _connects);

    /// <summary>Why the last connection failed or ended.</summary>
    public Exception? LastFailure => Volatile.Read(ref _lastFailure);

    /// <summary>Sends one value. Infinite values and NaN are left out, because Graphite does not accept them.</summary>
    public void Write(string path, double value, DateTime time)
    {
        ArgumentNullException.ThrowIfNull(path);
        if (path.AsSpan().ContainsAny(" \t\r\n")) throw new ArgumentException($"the path '{path}' must not contain white space", nameof(path));
        if (!double.IsFinite(value)) return;
        if (Interlocked.Increment(ref _waiting) > _capacity)
        {
            Interlocked.Decrement(ref _waiting);
            Interlocked.Increment(ref _dropped);
            return;
        }
        _lines.Enqueue(new Line(_prefix + path, value, time));
        _wake.Set();
    }

    /// <summary>A <see cref="CounterHandler"/>. Paths are those of <c>clrscope forward --to graphite</c> after its prefix: <c>NAME[.TAG.VALUE…]</c>, then
    /// <c>.rate</c> (each second) and <c>.total</c>, or <c>.p50 .p95 .p99 .count .sum</c>. EventCounters have their provider before the name.</summary>
    public void OnCounter(CounterValue value)
    {
        ArgumentNullException.ThrowIfNull(value);
        var path = new StringBuilder();
        if (!value.IsMeter) AppendPart(path, value.Provider).Append('.');
        AppendPath(path, value.Name);
        foreach (var (key, text) in value.Tags) AppendPart(AppendPart(path.Append('.'), key).Append('.'), text);
        var name = path.ToString();
        switch (value.Kind)
        {
            case CounterKind.Rate:
                Write(name + ".rate", value.Interval > TimeSpan.Zero ? value.Value / value.Interval.TotalSeconds : value.Value, value.Time);
                if (value.Total is { } total) Write(name + ".total", total, value.Time);
                break;
            case CounterKind.Histogram:
                foreach (var (share, at) in value.Quantiles) Write($"{name}.p{Math.Round(share * 100)}", at, value.Time);
                Write(name + ".count", value.Count, value.Time);
                Write(name + ".sum", value.Sum ?? 0, value.Time);
                break;
            default:
                Write(name, value.Value, value.Time);
                break;
        }
    }

    /// <summary>A <see cref="ClrEventHandler"/> that counts, for each interval in which there were any: <c>GC_Start.count</c>, and <c>.rate</c> each
    /// second. Allocates for new types only.</summary>
    public void OnEvent(in ClrEvent e)
    {
        if (!_events.TryGetValue(e.Type, out var tally)) tally = _events.GetOrAdd(e.Type, new Tally(AppendPath(new StringBuilder(), e.Type.Name).ToString()));
        Interlocked.Increment(ref tally.Count);
    }

    /// <summary>Sends the queued lines, for at most two seconds.</summary>
    public void Dispose()
    {
        if (_stop.IsSet) return;
        _stop.Set();
        _wake.Set();
        _sender.Join(TimeSpan.FromSeconds(4));
    }

    // Letters, digits, - and _ stay. What is too long for a file's name is cut, and a checksum keeps two apart.
    static StringBuilder AppendPart(StringBuilder path, ReadOnlySpan<char> part)
    {
        const int Longest = 120;
        foreach (var c in part[..Math.Min(part.Length, Longest)]) path.Append(char.IsAsciiLetterOrDigit(c) || c is '_' or '-' ? c : '_');
        if (part.Length == 0) path.Append('_');
        if (part.Length <= Longest) return path;
        var sum = 2166136261;
        foreach (var c in part) sum = unchecked((sum ^ c) * 16777619);
        return path.Append('_').Append(sum.ToString("x8", CultureInfo.InvariantCulture));
    }

    // A name with dots is as many levels.
    static StringBuilder AppendPath(StringBuilder path, string name)
    {
        var first = true;
        foreach (var part in name.Split('.', StringSplitOptions.RemoveEmptyEntries))
        {
            AppendPart(first ? path : path.Append('.'), part);
            first = false;
        }
        return path;
    }

    void Send()
    {
        var batch = new List<Line>();
        var bytes = new MemoryStream();
        var pause = TimeSpan.Zero;
        var nextTally = Environment.TickCount64 + (long)_interval.TotalMilliseconds;
        long? deadline = null;
        while (true)
        {
            if (_stop.IsSet) deadline ??= Environment.TickCount64 + 2000;
            if (Environment.TickCount64 >= nextTally || deadline is not null)
            {
                WriteTallies();
                nextTally = Environment.TickCount64 + (long)_interval.TotalMilliseconds;
            }
            while (batch.Count < MostInOneGo && _lines.TryDequeue(out var line)) batch.Add(line);
            if (batch.Count == 0)
            {
                if (deadline is not null) break;
                _wake.WaitOne((int)Math.Clamp(nextTally - Environment.TickCount64, 1, 1000));
                continue;
            }
            if (TrySend(batch, bytes))
            {
                Interlocked.Add(ref _waiting, -batch.Count);
                Interlocked.Add(ref _sent, batch.Count);
                batch.Clear();
                pause = TimeSpan.Zero;
                continue;
            }
            if (deadline is not null && Environment.TickCount64 >= deadline) break;
            pause = pause == TimeSpan.Zero ? TimeSpan.FromMilliseconds(50) : pause * 2 < s_longestPause ? pause * 2 : s_longestPause;
            _stop.Wait(deadline is null ? pause : TimeSpan.Zero);
            if (deadline is not null) Thread.Sleep(50);
        }
        Interlocked.Add(ref _dropped, batch.Count + _lines.Count);
        _socket?.Dispose();
    }

    void WriteTallies()
    {
        var now = DateTime.UtcNow;
        var seconds = Math.Max(0.001, (now - _tallied).TotalSeconds);
        _tallied = now;
        foreach (var tally in _events.Values)
        {
            if (Interlocked.Exchange(ref tally.Count, 0) is not (var count and > 0)) continue;
            Write(tally.Path + ".count", count, now);
            Write(tally.Path + ".rate", count / seconds, now);
        }
    }

    // A batch that failed is sent again as a whole: to Graphite the same line twice is the same value.
    bool TrySend(List<Line> batch, MemoryStream bytes)
    {
        try
        {
            // A connection that the server has closed can be read: nothing comes.
            if (_socket is not null && _socket.Poll(0, SelectMode.SelectRead) && _socket.Available == 0) throw new SocketException((int)SocketError.ConnectionReset);
            if (_socket is null)
            {
                var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true, SendTimeout = 5000 };
                _socket = socket;
                socket.Connect(_host, _port);
                Interlocked.Increment(ref _connects);
            }
            bytes.SetLength(0);
            foreach (var line in batch)
            {
                var seconds = new DateTimeOffset(line.Time).ToUnixTimeSeconds();
                bytes.Write(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{line.Path} {line.Value:R} {seconds}\n")));
            }
            var left = bytes.GetBuffer().AsSpan(0, (int)bytes.Length);
            while (left.Length > 0) left = left[_socket.Send(left)..];
            return true;
        }
        catch (Exception failure) when (failure is SocketException or ObjectDisposedException or IOException)
        {
            Volatile.Write(ref _lastFailure, failure);
            _socket?.Dispose();
            _socket = null;
            return false;
        }
    }
}
