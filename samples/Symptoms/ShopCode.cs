// The code of the shop, in a namespace of its own so that a pattern selects exactly this: --include 'Samples.Shop.*'.
// Each method measures itself when the request asks for it (ShopTruth).
using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using Samples.Symptoms;

namespace Samples.Shop;

/// <summary>What tests select by attribute: --include '[Timed]'.</summary>
[AttributeUsage(AttributeTargets.Method | AttributeTargets.Class)]
sealed class TimedAttribute : Attribute;

/// <summary>A client of the database: up to 32 connections, async I/O; whoever finds none waits.</summary>
static class Database
{
    const int Connections = 32;

    static readonly ConcurrentBag<Connection> s_idle = [];
    static readonly SemaphoreSlim s_free = new(Connections, Connections);

    public static IPEndPoint Address { get; set; } = new(IPAddress.Loopback, 0);

    /// <summary>Rows that the database took so many milliseconds to find.</summary>
    public static async Task<int> QueryAsync(int ms, int rows)
    {
        using var call = ShopTruth.Measure(typeof(Database));
        await s_free.WaitAsync().ConfigureAwait(false);
        try
        {
            if (!s_idle.TryTake(out var connection)) connection = await Connection.OpenAsync(Address).ConfigureAwait(false);
            var got = await connection.ExchangeAsync(ms, rows).ConfigureAwait(false);
            s_idle.Add(connection);
            return got;
        }
        finally
        {
            s_free.Release();
        }
    }
}

sealed class Connection
{
    readonly StreamReader _reader;
    readonly StreamWriter _writer;

    Connection(TcpClient client)
    {
        client.NoDelay = true;
        _reader = new StreamReader(client.GetStream());
        _writer = new StreamWriter(client.GetStream()) { NewLine = "\n", AutoFlush = true };
    }

    public static async Task<Connection> OpenAsync(IPEndPoint address)
    {
        using var call = ShopTruth.Measure(typeof(Connection));
        var client = new TcpClient();
        await client.ConnectAsync(address);
        return new Connection(client);
    }

    public async Task<int> ExchangeAsync(int ms, int rows)
    {
        using var call = ShopTruth.Measure(typeof(Connection));
        await _writer.WriteLineAsync($"{ms} {rows}");
        var got = 0;
        while (await _reader.ReadLineAsync() is { } line && line != ".") ++got;
        return got;
    }
}

static class Health
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static string Check()
    {
        using var call = ShopTruth.Measure(typeof(Health));
        return "healthy";
    }
}

/// <summary>Products with an even number are cached: their ValueTask has ended when it comes.</summary>
[Timed]
static class Products
{
    public static async ValueTask<string> GetAsync(int id)
    {
        using var call = ShopTruth.Measure(typeof(Products));
        var rows = id % 2 == 0 ? 1 : await Database.QueryAsync(3, 1);
        return $"product {id} ({rows})";
    }

    /// <summary>A page of products, one after the other.</summary>
    public static async Task<string> ListAsync(int page)
    {
        using var call = ShopTruth.Measure(typeof(Products));
        var names = new List<string>();
        await foreach (var name in StreamAsync(page)) names.Add(name);
        return string.Join('\n', names);
    }

    static async IAsyncEnumerable<string> StreamAsync(int page)
    {
        using var call = ShopTruth.Measure(typeof(Products));
        for (var i = 0; i < 4; ++i)
        {
            call?.Resume();
            await Database.QueryAsync(2, 1);
            yield return $"product {page * 4 + i}";
        }
    }
}

/// <summary>Async methods five deep.</summary>
static class Orders
{
    public static async Task<string> GetAsync(int id)
    {
        using var call = ShopTruth.Measure(typeof(Orders));
        var lines = await LoadAsync(id);
        var stock = await Stock.CheckAsync(id);
        return $"order {id}: {lines} lines, {stock} in stock";
    }

    [Timed]
    static async Task<int> LoadAsync(int id)
    {
        using var call = ShopTruth.Measure(typeof(Orders));
        return await Database.QueryAsync(5, 1 + id % 7).ConfigureAwait(false);
    }

    /// <summary>Takes from the stock, writes the order, and leaves a mail to be sent after the answer.</summary>
    public static async Task<string> PlaceAsync(int id)
    {
        using var call = ShopTruth.Measure(typeof(Orders));
        Stock.Take(1);
        await Database.QueryAsync(4, 0);
        _ = Mail.SendAsync(30);
        return $"placed {id}";
    }
}

static class Stock
{
    static readonly object s_lock = new();
    static long s_taken;

    public static async ValueTask<int> CheckAsync(int id)
    {
        using var call = ShopTruth.Measure(typeof(Stock));
        await Task.Yield();
        return await Database.QueryAsync(2, id % 5);
    }

    /// <summary>Everybody queues for one lock, and keeps it for a while.</summary>
    public static string Reserve(int item, int? ms)
    {
        using var call = ShopTruth.Measure(typeof(Stock));
        Take(ms ?? 3);
        return $"reserved {item}";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Take(int ms)
    {
        using var call = ShopTruth.Measure(typeof(Stock));
        lock (s_lock)
        {
            ++s_taken;
            Thread.Sleep(ms);
        }
    }
}

static class Mail
{
    /// <summary>Goes on after its request has been answered.</summary>
    public static async Task SendAsync(int ms)
    {
        using var call = ShopTruth.Measure(typeof(Mail));
        await Task.Delay(ms);
    }

    public static string Newsletter(string topic, int? ms)
    {
        using var call = ShopTruth.Measure(typeof(Mail));
        _ = Task.Run(() => SendAsync(ms ?? 60));
        return $"queued {topic}";
    }

    /// <summary>Leaves work behind that no await interrupts.</summary>
    public static string Archive(string topic, int? ms)
    {
        _ = Task.Run(() => Store(ms ?? 60));
        return $"archiving {topic}";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Store(int ms)
    {
        if (ms > 0) Thread.Sleep(ms);
    }

    /// <summary>Two plain methods deep; the second gives its work away and waits for it. Then one that throws is caught.</summary>
    public static string Campaign(string topic) => $"{topic}: {Deliver(5)} {Refused()}";

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Deliver(int ms)
    {
        var sent = Task.Run(() => SendAsync(ms));
        sent.Wait();
        return ms > 0 ? ms : 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static bool Refused()
    {
        try
        {
            Reject("no such list");
            return false;
        }
        catch (InvalidOperationException)
        {
            return true;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Reject(string why)
    {
        if (why.Length > 0) throw new InvalidOperationException(why);
    }
}

/// <summary>Three things at a time.</summary>
static class Dashboards
{
    public static async Task<string> ShowAsync(string user)
    {
        using var call = ShopTruth.Measure(typeof(Dashboards));
        var orders = OrdersOfAsync(user);
        var offers = OffersAsync();
        var score = Task.Run(() => Prices.Sum(2_000_000));
        await Task.WhenAll(orders, offers, score);
        return $"{user}: {await orders} orders, {await offers} offers, score {await score}";
    }

    static async Task<int> OrdersOfAsync(string user)
    {
        using var call = ShopTruth.Measure(typeof(Dashboards));
        return user.Length + await Database.QueryAsync(8, 3);
    }

    static async Task<int> OffersAsync()
    {
        using var call = ShopTruth.Measure(typeof(Dashboards));
        return await Database.QueryAsync(12, 5);
    }
}

static class Prices
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static string Convert(string currency, int? rounds)
    {
        using var call = ShopTruth.Measure(typeof(Prices));
        return $"{currency} {Sum(rounds ?? 4_000_000)}";
    }

    [Timed]
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static ulong Sum(int rounds)
    {
        using var call = ShopTruth.Measure(typeof(Prices));
        ulong sum = 1;
        for (var i = 0; i < rounds; ++i) sum = sum * 6364136223846793005 + 1442695040888963407;
        return sum;
    }
}

/// <summary>CPU time in a known ratio: three quarters of the rounds in one method, one quarter in the other.</summary>
static class Quotes
{
    public static string Compute(string currency, int? rounds)
    {
        var quarter = (rounds ?? 8_000_000) / 4;
        return $"{currency} {Base(quarter * 3) + Tax(quarter)}";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static ulong Base(int rounds) => Prices.Sum(rounds) | 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static ulong Tax(int rounds) => Prices.Sum(rounds) | 2;
}

static class Reports
{
    /// <summary>Slow: waits twice, and computes in between.</summary>
    public static async Task<string> WriteAsync(string name, int? ms)
    {
        using var call = ShopTruth.Measure(typeof(Reports));
        await CollectAsync((ms ?? 150) / 2);
        var sum = Prices.Sum(500_000);
        await CollectAsync((ms ?? 150) / 2);
        return $"report {name}: {sum}";
    }

    static async Task CollectAsync(int ms)
    {
        using var call = ShopTruth.Measure(typeof(Reports));
        await Task.Delay(ms);
    }
}

sealed class PaymentRefusedException(string message) : Exception(message);

static class Payments
{
    /// <summary>Always fails, after an await.</summary>
    public static async Task<string> ChargeAsync(int id)
    {
        using var call = ShopTruth.Measure(typeof(Payments));
        await Database.QueryAsync(2, 1);
        return Refuse(id);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string Refuse(int id)
    {
        using var call = ShopTruth.Measure(typeof(Payments));
        throw new PaymentRefusedException($"payment {id} was refused");
    }
}

static class Search
{
    /// <summary>Gives up by itself: 504.</summary>
    public static async Task<IResult> FindAsync(string term)
    {
        using var call = ShopTruth.Measure(typeof(Search));
        using var patience = new CancellationTokenSource(20);
        try
        {
            return Results.Text($"{term}: {await ScanAsync(10_000, patience.Token)}");
        }
        catch (OperationCanceledException)
        {
            return Results.StatusCode(StatusCodes.Status504GatewayTimeout);
        }
    }

    /// <summary>Begins its answer, and ends when the client goes away, as the load driver does.</summary>
    public static async Task FollowAsync(string topic, HttpContext context)
    {
        using var call = ShopTruth.Measure(typeof(Search));
        await context.Response.Body.FlushAsync();
        await context.Response.WriteAsync($"{topic}: {await ScanAsync(10_000, context.RequestAborted)}");
    }

    static async Task<int> ScanAsync(int ms, CancellationToken stop)
    {
        using var call = ShopTruth.Measure(typeof(Search));
        await Task.Delay(ms, stop);
        return ms;
    }
}

/// <summary>What one call of a very short method costs, for bench/requests_bench.py.</summary>
static class Calls
{
    public static string Measure(int count, int? rounds)
    {
        var sum = 0;
        var best = double.MaxValue;
        for (var round = 0; round < (rounds ?? 5); ++round)
        {
            var begin = Stopwatch.GetTimestamp();
            for (var i = 0; i < count; ++i) sum += Short(i);
            best = Math.Min(best, Stopwatch.GetElapsedTime(begin).TotalNanoseconds / count);
        }
        return FormattableString.Invariant($"{{\"nsPerCall\":{best:F3},\"sum\":{sum}}}");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Short(int value) => value < 0 ? 0 : value * 3 + 1; // a branch: methods without one count as trivial and get no probe
}
