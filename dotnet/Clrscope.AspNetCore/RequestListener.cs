using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Unicode;
using Microsoft.AspNetCore.Http;
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

    /// <summary>What is kept of a request until it ends, among the features of its context.</summary>
    sealed class Seen
    {
        public BeginningRequest Request;
    }

    readonly List<IDisposable> _subscriptions = [];
    readonly IDisposable _all;
    bool _disposed;

    public RequestListener() => _all = DiagnosticListener.AllListeners.Subscribe(this);

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

    // In the app's own request: nothing may leave.
    public void OnNext(KeyValuePair<string, object?> happened)
    {
        try
        {
            if (happened.Value is not { } payload) return;
            switch (happened.Key)
            {
                case BeginEvent:
                    if (Payload.Context(payload) is { } beginning) Begin(beginning);
                    break;
                case EndEvent:
                    if (Payload.Context(payload) is { } ending) End(ending, null);
                    break;
                case FailEvent:
                    if (Payload.Context(payload) is { } failing) End(failing, Payload.Exception(payload));
                    break;
            }
        }
        catch (Exception e) when (e is not OutOfMemoryException)
        {
            // The request counts as one whose end was not seen.
        }
    }

    public void OnCompleted() { }
    public void OnError(Exception error) { }

    static void Begin(HttpContext context)
    {
        var seen = new Seen();
        ref var request = ref seen.Request;
        request.PathHash = HashOf(context.Request.Method, context.Request.Path.Value);
        fixed (byte* id = request.TraceId)
        {
            var target = new Span<byte>(id, 16);
            if (!TryTraceId(context, target))
            {
                Random.Shared.NextBytes(target);
                request.Flags |= OwnId;
            }
        }
        if (RequestHelper.HasKey) TakeKey(context, ref request);
        RequestHelper.Begin(ref request);
        context.Features.Set(seen);
    }

    static bool TryTraceId(HttpContext context, Span<byte> target)
    {
        if (Activity.Current is { IdFormat: ActivityIdFormat.W3C } activity)
        {
            activity.TraceId.CopyTo(target);
            return true;
        }
        // 00-<32 digits>-<16 digits>-<flags>
        var text = context.Request.Headers.TraceParent.ToString();
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

    static void TakeKey(HttpContext context, ref BeginningRequest request)
    {
        var text = context.Request.Headers[KeyHeader].ToString();
        if (text.Length is 0 or > BeginningRequest.KeySize) return;
        fixed (byte* key = request.Key)
        {
            for (var i = 0; i < text.Length; ++i) key[i] = (byte)text[i];
        }
        request.KeyBytes = (uint)text.Length;
    }

    // Of a path without its digits: /orders/17 and /orders/18 are the same to the floor of the sampling.
    static ulong HashOf(string method, string? path)
    {
        var hash = 0xcbf29ce484222325UL ^ (method.Length > 0 ? method[0] : 0u);
        foreach (var c in path ?? "")
        {
            if (c is >= '0' and <= '9') continue;
            hash = (hash ^ c) * 0x100000001b3UL;
        }
        return hash ^ hash >> 29;
    }

    [SkipLocalsInit]
    static void End(HttpContext context, Exception? exception)
    {
        if (context.Features.Get<Seen>() is not { } seen) return; // it began before
        ref var request = ref seen.Request;
        Span<byte> bytes = stackalloc byte[sizeof(RequestEnd) + MostMethod + MostRoute + MostPath + MostError + 8];
        ref var end = ref MemoryMarshal.AsRef<RequestEnd>(bytes);
        end = default;
        end.Begin = request.Ticks;
        for (var i = 0; i < 16; ++i) end.TraceId[i] = request.TraceId[i];
        end.Root = request.Root;
        end.Number = request.Number;
        end.BytesIn = context.Request.ContentLength is { } received ? (ulong)received : ulong.MaxValue;
        end.BytesOut = context.Response.ContentLength is { } sent ? (ulong)sent : ulong.MaxValue;
        var status = context.Response.StatusCode;
        end.Status = (ushort)(exception is not null && status < 400 ? 500 : status);
        end.Flags = (ushort)(request.Flags | (context.RequestAborted.IsCancellationRequested ? Aborted : 0));
        var at = sizeof(RequestEnd);
        end.MethodBytes = Put(bytes, ref at, context.Request.Method, MostMethod);
        end.RouteBytes = Put(bytes, ref at, (context.GetEndpoint() as RouteEndpoint)?.RoutePattern.RawText, MostRoute);
        end.PathBytes = Put(bytes, ref at, context.Request.Path.Value, MostPath);
        end.ErrorBytes = Put(bytes, ref at, exception?.GetType().FullName, MostError);
        var size = at + 7 & ~7;
        bytes[at..size].Clear();
        RequestHelper.End(request.Number != 0, bytes[..size]);
    }

    // As much of the text as fits, whole characters only.
    static ushort Put(Span<byte> bytes, ref int at, string? text, int most)
    {
        if (text is null) return 0;
        _ = Utf8.FromUtf16(text, bytes.Slice(at, most), out _, out var written);
        at += written;
        return (ushort)written;
    }

    /// <summary>What the events carry: objects of a type that is not public, with these two properties.</summary>
    static class Payload
    {
        static Type? s_type;
        static Func<object, HttpContext?>? s_context;

        public static HttpContext? Context(object payload)
        {
            if (payload is HttpContext context) return context;
            var type = payload.GetType();
            if (type != s_type || s_context is null)
            {
                var getter = Property(type, "httpContext")?.GetMethod;
                if (getter is null) return null;
                // Instance methods of reference types have one calling convention.
                var typed = getter.CreateDelegate(typeof(Func<,>).MakeGenericType(type, typeof(HttpContext)));
                s_context = Unsafe.As<Func<object, HttpContext?>>(typed);
                s_type = type;
            }
            return s_context(payload);
        }

        public static Exception? Exception(object payload) => Property(payload.GetType(), "exception")?.GetValue(payload) as Exception;

        static PropertyInfo? Property(Type type, string name) => type.GetProperty(name, BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic);
    }
}
