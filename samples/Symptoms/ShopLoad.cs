using System.Collections.Concurrent;
using System.Diagnostics;
using System.Text.Json;

namespace Samples.Symptoms;

/// <summary>
/// Load for the sample `shop`: a fixed mix of its routes at a fixed rate, whatever the answers take (open loop), each request with a
/// random trace id of its own. Without --address it loads a shop in its own process.
/// </summary>
static class ShopLoad
{
    /// <summary>One kind of request. With a time to leave, the client goes away so long after the answer has begun.</summary>
    sealed record Kind(int Weight, string Method, string Route, int? LeaveAfterMs = null)
    {
        public string PathOf(int number)
        {
            var begin = Route.IndexOf('{', StringComparison.Ordinal);
            return begin < 0 ? Route : $"{Route[..begin]}{number}";
        }
    }

    sealed record Sent(string TraceId, string Method, string Route, string Path, int Status, double LatencyMs, string? Error);

    static readonly Kind[] s_kinds =
    [
        new(20, "GET", "/health"), new(15, "GET", "/products/{id}"), new(5, "GET", "/catalog/{page}"), new(20, "GET", "/orders/{id}"), new(5, "POST", "/orders/{id}"),
        new(8, "GET", "/dashboard/{user}"), new(5, "GET", "/prices/{currency}"), new(6, "GET", "/stock/{item}"), new(5, "GET", "/reports/{name}"),
        new(4, "GET", "/payments/{id}"), new(3, "GET", "/search/{term}"), new(2, "GET", "/feed/{topic}", 40), new(2, "POST", "/newsletter/{topic}"),
    ];

    public static void Run(Stage stage)
    {
        var options = stage.Options;
        using var shop = options.Has("address") ? null : new ShopServer(0);
        var address = shop?.Address ?? options.Text("address", "");
        if (!Uri.TryCreate(address, UriKind.Absolute, out var uri)) throw new UsageException($"--address is not an address: '{address}'");
        var only = options.Text("only", "");
        var mix = s_kinds.Where(k => $"{k.Method} {k.Route}".Contains(only, StringComparison.Ordinal)).ToArray();
        if (mix.Length == 0) throw new UsageException($"--only selects no route: '{only}'");
        var load = new Load(uri, mix, options.Int("concurrency", 200), options.Has("truth"));

        stage.Ready(new { address, routes = mix.Select(k => $"{k.Method} {k.Route}") });
        stage.WaitForGo();
        var seconds = options.Number("duration") ?? 10;
        stage.Work("load", () => load.Send(stage, options.Number("rate") ?? 50, options.Count("requests"), seconds));
        stage.FinishWork();
        load.Finish();
        if (options.Has("ids")) File.WriteAllLines(options.Text("ids", ""), load.All.Select(s => JsonSerializer.Serialize(s, s_camel)));
        stage.Done(load.Tell());
    }

    static readonly JsonSerializerOptions s_camel = new() { PropertyNamingPolicy = JsonNamingPolicy.CamelCase };

    sealed class Load(Uri address, Kind[] mix, int concurrency, bool asksForTruth)
    {
        readonly HttpClient _client = new(new SocketsHttpHandler { ActivityHeadersPropagator = null, MaxConnectionsPerServer = 1000 }) { BaseAddress = address, Timeout = TimeSpan.FromSeconds(30) };
        readonly SemaphoreSlim _slots = new(concurrency, concurrency);
        readonly ConcurrentQueue<Sent> _sent = new();
        long _delayed;
        double _seconds;

        public IEnumerable<Sent> All => _sent;

        /// <summary>Sends what is due, at most so many and so long. When all slots are taken it waits for one and counts that.</summary>
        public void Send(Stage stage, double perSecond, long most, double seconds)
        {
            var start = Stopwatch.GetTimestamp();
            var pace = new Pace(perSecond);
            var kinds = mix.SelectMany(kind => Enumerable.Repeat(kind, kind.Weight)).ToArray();
            var random = new Random(21);
            for (long number = 0; number < most && Stopwatch.GetElapsedTime(start).TotalSeconds < seconds && stage.Sleep(2);)
            {
                for (var due = pace.Due(); due > 0 && number < most && !stage.Ending; --due, ++number)
                {
                    if (!_slots.Wait(0))
                    {
                        ++_delayed;
                        _slots.Wait();
                    }
                    // Every kind at least once, then as the weights say.
                    var kind = number < mix.Length ? mix[number] : kinds[random.Next(kinds.Length)];
                    _ = Ask(kind, kind.PathOf((int)(number % 1000)));
                }
            }
            _seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
        }

        /// <summary>Waits for the answers that are still due.</summary>
        public void Finish()
        {
            for (var i = 0; i < concurrency; ++i) _slots.Wait();
            _client.Dispose();
        }

        public object Tell() => new
        {
            sent = _sent.Count,
            seconds = Math.Round(_seconds, 3),
            delayed = _delayed,
            statuses = _sent.GroupBy(s => s.Status == 0 ? s.Error! : s.Status.ToString()).OrderBy(g => g.Key).ToDictionary(g => g.Key, g => g.Count()),
            routes = _sent.GroupBy(s => (s.Method, s.Route)).OrderBy(g => g.Key.Route).ThenBy(g => g.Key.Method).Select(g =>
            {
                var sorted = g.Select(s => s.LatencyMs).Order().ToArray();
                return new { method = g.Key.Method, route = g.Key.Route, sent = sorted.Length, errors = g.Count(s => s.Status is 0 or >= 500), p50Ms = At(sorted, 0.5), p95Ms = At(sorted, 0.95), p99Ms = At(sorted, 0.99), maxMs = sorted[^1] };
            }),
        };

        static double At(double[] sorted, double share) => sorted[Math.Min(sorted.Length - 1, (int)(share * sorted.Length))];

        async Task Ask(Kind kind, string path)
        {
            var id = ActivityTraceId.CreateRandom().ToHexString();
            using var request = new HttpRequestMessage(new HttpMethod(kind.Method), path);
            request.Headers.Add("traceparent", $"00-{id}-{ActivitySpanId.CreateRandom().ToHexString()}-01");
            if (asksForTruth) request.Headers.Add("x-truth", "1");
            using var leave = new CancellationTokenSource();
            var start = Stopwatch.GetTimestamp();
            var (status, error) = (0, (string?)null);
            try
            {
                using var answer = await _client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead);
                if (kind.LeaveAfterMs is { } ms) leave.CancelAfter(ms);
                await answer.Content.ReadAsByteArrayAsync(leave.Token);
                status = (int)answer.StatusCode;
            }
            catch (OperationCanceledException)
            {
                error = kind.LeaveAfterMs is null ? "timeout" : "left";
            }
            catch (HttpRequestException e)
            {
                error = e.HttpRequestError.ToString();
            }
            _sent.Enqueue(new Sent(id, kind.Method, kind.Route, path, status, Math.Round(Stopwatch.GetElapsedTime(start).TotalMilliseconds, 3), error));
            _slots.Release();
        }
    }
}
