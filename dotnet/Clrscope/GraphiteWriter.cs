using System.Collections.Concurrent;
using System.Globalization;
using System.Net.Sockets;
using System.Text;

namespace Clrscope;

/// <summary>
/// Sends counters, and how often each event happened, to Graphite: plaintext over TCP, one line for each value. Never holds up
/// who calls it: lines wait in a bounded queue while the server is away; when that is full new ones are dropped and counted.
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
    int _waiting;
    long _sent, _dropped, _connects;
    Exception? _lastFailure;

    sealed class Tally(string path)
    {
        public readonly string Path = path;
        public long Count;
    }

    /// <summary>Connects in the background, now and whenever the connection is lost.</summary>
    /// <param name="host">Where carbon listens.</param>
    /// <param name="port">Its plaintext port.</param>
    /// <param name="prefix">Before every path, such as <c>shop.web1</c>.</param>
    /// <param name="capacity">How many lines wait while the server is away.</param>
    /// <param name="interval">How often counts of events are sent; unless told each second.</param>
    public GraphiteWriter(string host, int port = 2003, string prefix = "", int capacity = 10_000, TimeSpan? interval = null)
    {
        _host = host;
        _port = port;
        _prefix = prefix.Length == 0 || prefix.EndsWith('.') ? prefix : prefix + ".";
        _capacity = capacity;
        _interval = interval ?? TimeSpan.FromSeconds(1);
        _sender = new Thread(Send) { IsBackground = true, Name = "clrscope graphite" };
        _sender.Start();
    }

    /// <summary>Lines handed to the connection.</summary>
    public long Sent => Volatile.Read(ref _sent);

    /// <summary>Lines thrown away because too many were waiting.</summary>
    public long Dropped => Volatile.Read(ref _dropped);

    /// <summary>How often a connection was made.</summary>
    public long Connects => Volatile.Read(ref _connects);

    /// <summary>Why the last connection failed or ended.</summary>
    public Exception? LastFailure => Volatile.Read(ref _lastFailure);

    /// <summary>Sends one value.</summary>
    public void Write(string path, double value, DateTime time)
    {
        if (Interlocked.Increment(ref _waiting) > _capacity)
        {
            Interlocked.Decrement(ref _waiting);
            Interlocked.Increment(ref _dropped);
            return;
        }
        _lines.Enqueue(new Line(_prefix + path, value, time));
        _wake.Set();
    }

    /// <summary>A <see cref="CounterHandler"/>: <c>PROVIDER.NAME[.TAG_VALUE…] value time</c>; histograms also as <c>.p50 .p95 .p99 .count</c>.</summary>
    public void OnCounter(CounterValue value)
    {
        ArgumentNullException.ThrowIfNull(value);
        var path = new StringBuilder();
        Append(path, value.Provider, '_').Append('.');
        Append(path, value.Name, '.');
        foreach (var (key, text) in value.Tags) Append(Append(path.Append('.'), key, '_').Append('_'), text, '_');
        if (value.Kind != CounterKind.Histogram)
        {
            Write(path.ToString(), value.Value, value.Time);
            return;
        }
        foreach (var (share, at) in value.Quantiles) Write($"{path}.p{Math.Round(share * 100)}", at, value.Time);
        Write($"{path}.count", value.Count, value.Time);
    }

    /// <summary>A <see cref="ClrEventHandler"/> that counts: <c>events.PROVIDER.NAME count time</c> each interval. Allocates for new types only.</summary>
    public void OnEvent(in ClrEvent e)
    {
        if (!_events.TryGetValue(e.Type, out var tally)) tally = _events.GetOrAdd(e.Type, new Tally(EventPath(e.Type)));
        Interlocked.Increment(ref tally.Count);
    }

    /// <summary>Sends what waits, for two seconds at most.</summary>
    public void Dispose()
    {
        if (_stop.IsSet) return;
        _stop.Set();
        _wake.Set();
        _sender.Join(TimeSpan.FromSeconds(4));
    }

    static string EventPath(EventType type) => Append(Append(new StringBuilder("events."), type.Provider, '_').Append('.'), type.Name, '.').ToString();

    // Graphite's own: letters, digits, _ and -. A dot or slash inside of a name is a level of the path where the name has levels.
    static StringBuilder Append(StringBuilder path, string name, char level)
    {
        foreach (var c in name) path.Append(char.IsAsciiLetterOrDigit(c) || c is '_' or '-' ? c : c is '.' or '/' ? level : '_');
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
        foreach (var tally in _events.Values)
            if (Interlocked.Exchange(ref tally.Count, 0) is var count and > 0) Write(tally.Path, count, now);
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
