using System.Collections.Concurrent;
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>
/// What the shop knows about its requests and its own methods: when each call began and ended, measured with a Stopwatch in the
/// method itself, awaits included. Only requests with the header `x-truth` are measured; others pay for one comparison.
/// </summary>
static class ShopTruth
{
    const int MostKept = 20_000;

    static readonly AsyncLocal<Call?> s_current = new();
    static readonly ConcurrentDictionary<string, Request> s_requests = new();
    static readonly ConcurrentQueue<string> s_order = new();
    static long s_measured, s_forgotten;

    /// <summary>One measured request. Threads that work for it add their calls at the same time.</summary>
    public sealed class Request(string traceId, string method, string path)
    {
        readonly List<Call> _calls = [];

        public string TraceId => traceId;
        public string Method => method;
        public string Path => path;
        public string Route { get; set; } = "";
        public int Status { get; set; }
        public long BeginNs { get; } = Now();
        public long EndNs { get; set; }

        public int Add(Call call)
        {
            lock (_calls)
            {
                _calls.Add(call);
                return _calls.Count;
            }
        }

        public object Tell()
        {
            lock (_calls)
            {
                return new
                {
                    traceId,
                    method,
                    path,
                    route = Route,
                    status = Status,
                    beginNs = BeginNs,
                    durationMs = Span(BeginNs, EndNs),
                    calls = _calls.Select(c => new { id = c.Id, parent = c.Parent, method = c.Method, startMs = Span(BeginNs, c.BeginNs), durationMs = Span(c.BeginNs, c.EndNs) }).ToArray(),
                };
            }
        }

        static double? Span(long from, long to) => to == 0 ? null : (to - from) / 1e6;
    }

    /// <summary>One call of a method, from here to its Dispose.</summary>
    public sealed class Call : IDisposable
    {
        readonly Request _request;
        readonly Call? _outer;
        long _endNs;

        public Call(Request request, Call? outer, string method)
        {
            _request = request;
            _outer = outer;
            Method = method;
            BeginNs = Now();
            Id = method.Length == 0 ? 0 : request.Add(this);
        }

        public int Id { get; }
        public int Parent => _outer?.Id ?? 0;  // 0: the request itself
        public string Method { get; }
        public long BeginNs { get; }
        public long EndNs => Volatile.Read(ref _endNs);
        public Request Request => _request;

        /// <summary>For iterators, which go on in the context of whoever asks for the next item.</summary>
        public void Resume() => s_current.Value = this;

        public void Dispose()
        {
            Volatile.Write(ref _endNs, Now());
            s_current.Value = _outer;
        }
    }

    /// <summary>Measures the calling method until the result is disposed; null when its request did not ask.</summary>
    public static Call? Measure(Type type, [CallerMemberName] string method = "")
    {
        if (Volatile.Read(ref s_measured) == 0 || s_current.Value is not { } outer) return null;
        var call = new Call(outer.Request, outer, $"{type.FullName}.{method}");
        s_current.Value = call;
        return call;
    }

    /// <summary>Middleware, the outermost one: measures the request.</summary>
    public static async Task Serve(HttpContext context, RequestDelegate next)
    {
        if (!context.Request.Headers.ContainsKey("x-truth"))
        {
            await next(context);
            return;
        }
        var request = new Request(TraceIdOf(context), context.Request.Method, context.Request.Path);
        Keep(request);
        s_current.Value = new Call(request, null, "");
        var failed = true;
        try
        {
            await next(context);
            failed = false;
        }
        finally
        {
            request.Route = (context.GetEndpoint() as RouteEndpoint)?.RoutePattern.RawText ?? "";
            request.Status = failed && !context.Response.HasStarted ? StatusCodes.Status500InternalServerError : context.Response.StatusCode;
            request.EndNs = Now();
        }
    }

    /// <summary>The measured requests: one by its trace id, or all that are kept.</summary>
    public static object Tell(string? traceId)
    {
        var told = traceId is null ? s_requests.Values : s_requests.TryGetValue(traceId, out var one) ? [one] : Array.Empty<Request>().AsEnumerable();
        return new { measured = Interlocked.Read(ref s_measured), forgotten = Interlocked.Read(ref s_forgotten), requests = told.OrderBy(r => r.BeginNs).Select(r => r.Tell()).ToArray() };
    }

    static void Keep(Request request)
    {
        Interlocked.Increment(ref s_measured);
        if (!s_requests.TryAdd(request.TraceId, request)) return;  // the same id twice: the first one stays
        s_order.Enqueue(request.TraceId);
        while (s_order.Count > MostKept && s_order.TryDequeue(out var oldest))
            if (s_requests.TryRemove(oldest, out _)) Interlocked.Increment(ref s_forgotten);
    }

    // "00-TRACEID-SPANID-FLAGS"
    static string TraceIdOf(HttpContext context)
    {
        var header = context.Request.Headers.TraceParent.ToString();
        return header.Length == 55 ? header.Substring(3, 32) : context.TraceIdentifier;
    }

    // Nanoseconds of CLOCK_MONOTONIC.
    static long Now() => (long)(Stopwatch.GetTimestamp() * (1e9 / Stopwatch.Frequency));
}
