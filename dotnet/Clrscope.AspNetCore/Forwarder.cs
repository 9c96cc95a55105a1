using System.Net;
using System.Net.Http.Headers;
using System.Net.Sockets;
using System.Text;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Primitives;

namespace Clrscope.AspNetCore;

/// <summary>How a request reached us, for the controller to decide on.</summary>
internal enum Caller
{
    /// <summary>The app has let it in: the controller asks for nothing more.</summary>
    AdmittedByApp,

    /// <summary>Nobody has looked at it: the controller asks for a key, as it does on TCP.</summary>
    Unknown,
}

/// <summary>
/// Hands a request to the controller and its answer back, both as they come: nothing is collected, every piece is flushed, whoever leaves first
/// ends it for the other too. What fails is answered with a problem (503), never thrown.
/// </summary>
internal sealed class Forwarder : IDisposable
{
    // Of one connection each, RFC 9110 7.6.1; and those that Kestrel writes itself.
    static readonly HashSet<string> s_notForwarded = new(StringComparer.OrdinalIgnoreCase)
    {
        "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Expect", "Date", "Server",
    };

    readonly Controller _controller;
    readonly HttpMessageInvoker _client;

    public Forwarder(Controller controller)
    {
        _controller = controller;
        _client = new HttpMessageInvoker(new SocketsHttpHandler
        {
            ConnectCallback = async (_, cancel) =>
            {
                var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                try
                {
                    await socket.ConnectAsync(new UnixDomainSocketEndPoint(controller.Socket), cancel).ConfigureAwait(false);
                    return new NetworkStream(socket, ownsSocket: true);
                }
                catch
                {
                    socket.Dispose();
                    throw;
                }
            },
            AllowAutoRedirect = false,
            UseCookies = false,
            UseProxy = false,
            AutomaticDecompression = DecompressionMethods.None,
            ActivityHeadersPropagator = null, // no trace of ours in the app's telemetry
            RequestHeaderEncodingSelector = static (_, _) => Encoding.UTF8, // as Kestrel reads them
            PooledConnectionIdleTimeout = TimeSpan.FromSeconds(20),
        });
    }

    /// <summary><paramref name="basePath"/> is what stands before our paths in the app's, <paramref name="path"/> the rest, beginning with a slash.</summary>
    public async Task HandleAsync(HttpContext context, string basePath, string path, Caller caller)
    {
        try
        {
            await _controller.ReadyAsync(context.RequestAborted).ConfigureAwait(false);
            using var request = RequestOf(context, basePath, path, caller);
            using var answer = await _client.SendAsync(request, context.RequestAborted).ConfigureAwait(false);
            await HandBackAsync(context, answer).ConfigureAwait(false);
        }
        catch (Exception) when (context.RequestAborted.IsCancellationRequested) { } // the caller left
        catch (Exception e)
        {
            if (context.Response.HasStarted) context.Abort(); // half an answer must not look like a whole one
            else await Problem.WriteAsync(context, e).ConfigureAwait(false);
        }
    }

    static HttpRequestMessage RequestOf(HttpContext context, string basePath, string path, Caller caller)
    {
        var from = context.Request;
        var whole = new UriCreationOptions { DangerousDisablePathAndQueryCanonicalization = true }; // as it was asked
        var request = new HttpRequestMessage(new HttpMethod(from.Method), new Uri($"http://localhost{path}{from.QueryString.ToUriComponent()}", whole));
        if (context.Features.Get<IHttpRequestBodyDetectionFeature>() is { CanHaveBody: true })
        {
            // The controller has limits of its own, by route.
            if (context.Features.Get<IHttpMaxRequestBodySizeFeature>() is { IsReadOnly: false } limit) limit.MaxRequestBodySize = null;
            request.Content = new Upward(from.Body, context.RequestAborted);
        }
        var listed = Listed(from.Headers.Connection);
        foreach (var (name, values) in from.Headers)
        {
            if (s_notForwarded.Contains(name) || listed.Contains(name) || name.StartsWith("X-Clrscope-", StringComparison.OrdinalIgnoreCase)) continue;
            // What proves the caller to the app is not the controller's business.
            if (caller == Caller.AdmittedByApp && (name.Equals("Authorization", StringComparison.OrdinalIgnoreCase) || name.Equals("Cookie", StringComparison.OrdinalIgnoreCase))) continue;
            if (!request.Headers.TryAddWithoutValidation(name, (IEnumerable<string?>)values)) request.Content?.Headers.TryAddWithoutValidation(name, (IEnumerable<string?>)values);
        }
        if (basePath.Length > 0) request.Headers.TryAddWithoutValidation("X-Clrscope-Base", basePath);
        if (caller == Caller.Unknown) request.Headers.TryAddWithoutValidation("X-Clrscope-Caller", "unknown");
        else if (context.User.Identity is { IsAuthenticated: true, Name: { Length: > 0 } user }) request.Headers.TryAddWithoutValidation("X-Clrscope-User", Uri.EscapeDataString(user));
        return request;
    }

    static async Task HandBackAsync(HttpContext context, HttpResponseMessage answer)
    {
        var to = context.Response;
        to.StatusCode = (int)answer.StatusCode;
        Copy(answer.Headers, to.Headers);
        Copy(answer.Content.Headers, to.Headers);
        var trailers = answer.Headers.Trailer.Count > 0 && to.SupportsTrailers();
        if (trailers)
            foreach (var name in answer.Headers.Trailer) to.DeclareTrailer(name);
        context.Features.Get<IHttpResponseBodyFeature>()?.DisableBuffering();
        // Also an answer without a first byte yet is one: a stream's head must not wait for its first event.
        await to.StartAsync(context.RequestAborted).ConfigureAwait(false);
        await to.Body.FlushAsync(context.RequestAborted).ConfigureAwait(false);
        var body = await answer.Content.ReadAsStreamAsync(context.RequestAborted).ConfigureAwait(false);
        await using (body.ConfigureAwait(false))
        {
            await PassOnAsync(body, to.Body, context.RequestAborted).ConfigureAwait(false);
        }
        if (!trailers) return;
        foreach (var (name, values) in answer.TrailingHeaders) to.AppendTrailer(name, Plain(values));
    }

    static async Task PassOnAsync(Stream from, Stream to, CancellationToken cancel)
    {
        var piece = new byte[16 << 10];
        while (await from.ReadAsync(piece, cancel).ConfigureAwait(false) is > 0 and var size)
        {
            await to.WriteAsync(piece.AsMemory(0, size), cancel).ConfigureAwait(false);
            await to.FlushAsync(cancel).ConfigureAwait(false);
        }
    }

    /// <summary>The caller's body, piece by piece: StreamContent would wait until a buffer is full.</summary>
    sealed class Upward(Stream body, CancellationToken cancel) : HttpContent
    {
        protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) => PassOnAsync(body, stream, cancel);

        protected override bool TryComputeLength(out long length)
        {
            length = 0;
            return false; // where it is known, the header says it
        }
    }

    static void Copy(HttpHeaders from, IHeaderDictionary to)
    {
        foreach (var (name, values) in from.NonValidated)
            if (!s_notForwarded.Contains(name)) to[name] = Plain(values);
    }

    // Kestrel throws at characters that are none of ASCII's.
    static StringValues Plain(IEnumerable<string> values) =>
        values.Select(v => v.All(c => c is >= ' ' and <= '~') ? v : string.Concat(v.Select(c => c is >= ' ' and <= '~' ? c : '?'))).ToArray();

    // Header fields that the sender says are for this connection only.
    static HashSet<string> Listed(StringValues connection) =>
        new(connection.SelectMany(v => (v ?? "").Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries)), StringComparer.OrdinalIgnoreCase);

    public void Dispose() => _client.Dispose();
}
