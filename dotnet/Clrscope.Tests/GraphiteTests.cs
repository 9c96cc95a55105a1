using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using System.Net;
using System.Net.Sockets;
using Xunit;

namespace Clrscope.Tests;

public class GraphiteTests
{
    /// <summary>What carbon does with its plaintext port: takes connections, reads lines.</summary>
    sealed class Server : IDisposable
    {
        readonly TcpListener _listener;
        readonly ConcurrentBag<TcpClient> _clients = [];
        public readonly ConcurrentQueue<string> Lines = [];

        public Server(int port = 0)
        {
            _listener = new TcpListener(IPAddress.Parse(Address), port);
            _listener.Server.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.ReuseAddress, true);
            _listener.Start();
            Port = ((IPEndPoint)_listener.LocalEndpoint).Port;
            new Thread(Serve) { IsBackground = true }.Start();
        }

        /// <summary>A loopback address of this process's own: nobody else takes a port that is to be opened again.</summary>
        public static string Address { get; } = $"127.{100 + (Environment.ProcessId >> 16) % 100}.{(Environment.ProcessId >> 8) & 255}.{Environment.ProcessId & 255}";

        public int Port { get; }

        public void Dispose()
        {
            _listener.Stop();
            foreach (var client in _clients) client.Dispose();
        }

        void Serve()
        {
            try
            {
                while (true)
                {
                    var client = _listener.AcceptTcpClient();
                    _clients.Add(client);
                    new Thread(() => Read(client)) { IsBackground = true }.Start();
                }
            }
            catch (Exception failure) when (failure is SocketException or ObjectDisposedException or InvalidOperationException) { }
        }

        void Read(TcpClient client)
        {
            try
            {
                using var reader = new StreamReader(client.GetStream());
                while (reader.ReadLine() is { } line) Lines.Enqueue(line);
            }
            catch (Exception failure) when (failure is IOException or ObjectDisposedException or InvalidOperationException) { }
        }
    }

    [Fact]
    public void GetsCountersAndCountsOfEvents()
    {
        using var server = new Server();
        using var meter = new Meter("Shop.Orders");
        using var source = new NumberSource();
        var orders = meter.CreateCounter<int>("orders.placed");
        using (var graphite = new GraphiteWriter(Server.Address, server.Port, "shop.web1", interval: TimeSpan.FromMilliseconds(200)))
        using (Session.Start(new SessionRequest { Providers = { "Clrscope-Tests-Numbers" }, Counters = { "Shop.Orders" }, Interval = TimeSpan.FromMilliseconds(200) }, graphite.OnEvent, graphite.OnCounter))
        {
            orders.Add(3, new KeyValuePair<string, object?>("route", "/a b"));
            for (var i = 0; i < 5; ++i) source.OrderStop(i, true, Guid.Empty);
            Wait.Until(() => Sum("Order_Stop.count") >= 5 && Sum("orders.placed.route._a_b.rate") > 0, "lines");
        }
        Assert.Equal(5, Sum("Order_Stop.count"));
        var now = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        Assert.All(server.Lines, line => Assert.InRange(long.Parse(line.Split(' ')[2]), now - 120, now + 1));

        double Sum(string path) => server.Lines.Select(l => l.Split(' ')).Where(l => l[0] == "shop.web1." + path).Sum(l => double.Parse(l[1]));
    }

    [Fact]
    public void WaitsForAServerThatIsAwayAndKeepsWhatFits()
    {
        var server = new Server();
        var port = server.Port;
        using var graphite = new GraphiteWriter(Server.Address, port, capacity: 50);
        graphite.Write("never", double.NaN, DateTime.UtcNow);
        Assert.Throws<ArgumentException>(() => graphite.Write("a b 1\nc", 1, DateTime.UtcNow));
        graphite.Write("first", 1, DateTime.UtcNow);
        Wait.Until(() => server.Lines.Count == 1, "the first line");
        server.Dispose();
        for (var i = 0; i < 80; ++i) graphite.Write($"away.{i}", i, DateTime.UtcNow);
        Assert.Equal(30, graphite.Dropped);
        Wait.Until(() => graphite.LastFailure is not null, "a failure");
        using var again = new Server(port);
        Wait.Until(() => again.Lines.Count >= 50, "what was kept");
        Assert.Equal(Enumerable.Range(0, 50).Select(i => $"away.{i}"), again.Lines.Take(50).Select(l => l.Split(' ')[0]));
        Wait.Until(() => graphite.Sent == 51, "the count of what was sent");
        Assert.Equal(2, graphite.Connects);
    }

    [Fact]
    public void EndsInTimeThoughNobodyListens()
    {
        int port;
        using (var server = new Server()) port = server.Port;
        var graphite = new GraphiteWriter(Server.Address, port);
        graphite.Write("lost", 1, DateTime.UtcNow);
        graphite.Dispose();
        Assert.Equal((0, 1), (graphite.Sent, graphite.Dropped));
    }
}
