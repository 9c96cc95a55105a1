using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Unicode;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Routing;

namespace Clrscope.AspNetCore;

/// <summary>
/// Hears requests of all ASP.NET hosts in the process, from its creation until it is disposed, by the diagnostic events that hosts write at their begin and end.
/// It asks for no other events: in particular hosts make no Activity because of it.
/// </summary>
internal sealed unsafe class RequestListener : IObserver<DiagnosticListener>, IObserver<KeyValuePair<string, object?>>, IDisposable
{
    const string BeginEvent = "Microsoft.AspNetCore.Hosting.BeginRequest";
    const string EndEvent = "Microsoft.AspNetCore.Hosting.EndRequest";
    const string FailEvent = "Microsoft.AspNetCore.Hosting.UnhandledException";
    const string KeyHeader = "x-clrscope-key";
    const ushort Aborted = 4, OwnId = 8;
    const int MostMethod = 16, MostRoute = 240, MostPath = 240, MostError = 120;

    const int MeasuredTurn = 7; // odd: events begin and end requests by turns

    /// <summary>What is kept of a request until it ends, among the features of its context.</summary>
    sealed class Seen(ulong ticks, ulong root, ulong shape, TraceId traceId, uint number, ushort flags, string method, string? path)
    {
        public readonly ulong Ticks = ticks, Root = root, Shape = shape;
        public readonly TraceId TraceId = traceId;
        public readonly uint Number = number; // 0: not sampled
        public readonly ushort Flags = flags;
        public readonly string Method = method;
        public readonly string? Path = path;
    }

    [ThreadStatic] static int t_turn;

    readonly PathShapes _shapes = new();
    readonly Payload _usual = new(), _failed = new(); // each of one type of payloads
    readonly List<IDisposable> _subscriptions = [];
    readonly IDisposable _all;
    bool _disposed;

    public RequestListener()
    {
        KestrelRequest.Prepare();
        _all = DiagnosticListener.AllListeners.Subscribe(this);
    }

    public void Dispose()
    {
        _all.Dispose();
        lock (_subscriptions)
        {
            _disposed = true;
            foreach (var one in _subscriptions) one.Dispose();
            _subscriptions.Clear();
        }
    }

    public void OnNext(DiagnosticListener listener)
    {
        if (listener.Name != "Microsoft.AspNetCore") return;
        var subscription = listener.Subscribe(this, static (name, _, _) => name is BeginEvent or EndEvent or FailEvent);
        lock (_subscriptions)
        {
            if (!_disposed) _subscriptions.Add(subscription);
        }
        if (_disposed) subscription.Dispose();
    }

    // In the app's own request: nothing may leave. Some of the calls are timed: the agent holds its budget by what they really take. What runs in every request is
    // compiled for speed at once.
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    public void OnNext(KeyValuePair<string, object?> happened)
    {
        long began = 0;
        if (++t_turn == MeasuredTurn)
        {
            t_turn = 0;
            began = Stopwatch.GetTimestamp();
        }
        try
        {
            if (happened.Value is not { } payload) return;
            switch (happened.Key)
            {
                case BeginEvent:
                    if (_usual.Context(payload) is { } beginning) Begin(beginning);
                    break;
                case EndEvent:
                    if (_usual.Context(payload) is { } ending) End(ending, null);
                    break;
                case FailEvent:
                    if (_failed.Context(payload) is { } failing) End(failing, Payload.Exception(payload));
                    break;
            }
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // The request counts as one whose end was not seen.
        }
        if (began != 0) RequestHelper.Spent(happened.Key == BeginEvent, Stopwatch.GetTimestamp() - began);
    }

    public void OnCompleted() { }
    public void OnError(Exception error) { }

    [SkipLocalsInit, MethodImpl(MethodImplOptions.AggressiveOptimization)]
    void Begin(HttpContext context)
    {
        // HttpContext.Request would ask for this by its type argument, once for each property: the cache there is empty yet.
        var features = context.Features;
        if (features[typeof(IHttpRequestFeature)] is not IHttpRequestFeature feature) return;
        var method = feature.Method;
        var path = feature.Path;
        Unsafe.SkipInit(out BeginningRequest request);
        request.KeyBytes = 0;
        request.Flags = request.Reserved = 0;
        request.PathHash = _shapes.KeyOf(method, path, out var shape);
        var id = MemoryMarshal.AsBytes(new Span<TraceId>(ref request.TraceId));
        if (!TryTraceId(feature, id))
        {
            Random.Shared.NextBytes(id);
            request.Flags = OwnId;
        }
        if (RequestHelper.HasKey) TakeKey(feature, ref request);
        RequestHelper.Begin(&request);
        // Get and Set by type argument take several times as long.
        features[typeof(Seen)] = new Seen(request.Ticks, request.Root, shape, request.TraceId, request.Number, request.Flags, method, path);
    }

    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    static bool TryTraceId(IHttpRequestFeature request, Span<byte> target)
    {
        if (Activity.Current is { IdFormat: ActivityIdFormat.W3C } activity)
        {
            activity.TraceId.CopyTo(target);
            return true;
        }
        // 00-<32 digits>-<16 digits>-<flags>
        var text = request.Headers.TraceParent.ToString();
        if (text.Length < 55 || text[2] != '-' || text[35] != '-') return false;
        var any = 0;
        for (var i = 0; i < 16; ++i)
        {
            var value = Digit(text[3 + i * 2]) << 4 | Digit(text[4 + i * 2]);
            if (value < 0) return false;
            target[i] = (byte)value;
            any |= value;
        }
        return any != 0;
    }

    static int Digit(char c) => c switch
    {
        >= '0' and <= '9' => c - '0',
        >= 'a' and <= 'f' => c - 'a' + 10,
        >= 'A' and <= 'F' => c - 'A' + 10,
        _ => -1000,
    };

    static void TakeKey(IHttpRequestFeature feature, ref BeginningRequest request)
    {
        var text = feature.Headers[KeyHeader].ToString();
        if (text.Length is 0 or > BeginningRequest.KeySize) return;
        fixed (byte* key = request.Key)
        {
            for (var i = 0; i < text.Length; ++i) key[i] = (byte)text[i];
        }
        request.KeyBytes = (uint)text.Length;
    }

    // Of a request that is not sampled, what takes long to ask is asked only where it matters.
    [SkipLocalsInit, MethodImpl(MethodImplOptions.AggressiveOptimization)]
    void End(HttpContext context, Exception? exception)
    {
        var features = context.Features;
        if (features[typeof(Seen)] is not Seen seen) return; // it began before
        if (features[typeof(IHttpResponseFeature)] is not IHttpResponseFeature response) return;
        Span<byte> bytes = stackalloc byte[sizeof(RequestEnd) + MostMethod + MostRoute + MostPath + MostError + 8];
        ref var end = ref MemoryMarshal.AsRef<RequestEnd>(bytes);
        end = default;
        end.Begin = seen.Ticks;
        end.TraceId = seen.TraceId;
        end.Root = seen.Root;
        end.Number = seen.Number;
        var sampled = seen.Number != 0;
        var mayHaveBody = sampled || !(HttpMethods.IsGet(seen.Method) || HttpMethods.IsHead(seen.Method));
        end.BytesIn = mayHaveBody && context.Request.ContentLength is { } received ? (ulong)received : ulong.MaxValue;
        end.BytesOut = response.Headers.ContentLength is { } announced ? (ulong)announced : KestrelRequest.SentBytes(features) ?? ulong.MaxValue;
        var status = response.StatusCode;
        end.Status = (ushort)(exception is not null && status < 400 ? 500 : status);
        end.Flags = (ushort)(seen.Flags | (IsAborted(context, sampled || exception is not null || status >= 400) ? Aborted : 0));
        var at = sizeof(RequestEnd);
        end.MethodBytes = Put(bytes, ref at, seen.Method, MostMethod);
        var route = ((features[typeof(IEndpointFeature)] as IEndpointFeature)?.Endpoint as RouteEndpoint)?.RoutePattern.RawText;
        if (route is not null) _shapes.Learn(seen.Shape, seen.Method, route);
        end.RouteBytes = Put(bytes, ref at, route, MostRoute);
        end.PathBytes = Put(bytes, ref at, seen.Path, MostPath);
        end.ErrorBytes = Put(bytes, ref at, exception?.GetType().FullName, MostError);
        var size = at + 7 & ~7;
        bytes[at..size].Clear();
        RequestHelper.End(sampled, bytes[..size]);
    }

    // Servers other than Kestrel may make an object for the answer.
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    static bool IsAborted(HttpContext context, bool likely) =>
        KestrelRequest.IsAborted(context.Features) ?? (likely && context.RequestAborted.IsCancellationRequested);

    // As much of the text as fits, whole characters only.
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    static ushort Put(Span<byte> bytes, ref int at, string? text, int most)
    {
        if (text is null) return 0;
        _ = Utf8.FromUtf16(text, bytes.Slice(at, most), out _, out var written);
        at += written;
        return (ushort)written;
    }

    /// <summary>What the events carry: objects of a type that is not public, with these two properties.</summary>
    sealed class Payload
    {
        Type? _type;
        Func<object, HttpContext?>? _context;

        [MethodImpl(MethodImplOptions.AggressiveOptimization)]
        public HttpContext? Context(object payload)
        {
            var type = payload.GetType();
            if (type != _type || _context is null)
            {
                if (payload is HttpContext context) return context;
                var getter = Property(type, "httpContext")?.GetMethod;
                if (getter is null) return null;
                // Instance methods of reference types have one calling convention.
                var typed = getter.CreateDelegate(typeof(Func<,>).MakeGenericType(type, typeof(HttpContext)));
                _context = Unsafe.As<Func<object, HttpContext?>>(typed);
                _type = type;
            }
            return _context(payload);
        }

        public static Exception? Exception(object payload) => Property(payload.GetType(), "exception")?.GetValue(payload) as Exception;

        static PropertyInfo? Property(Type type, string name) => type.GetProperty(name, BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic);
    }
}
