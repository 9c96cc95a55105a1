using System.Net;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging.Abstractions;
using Microsoft.Extensions.Options;

namespace Clrscope.AspNetCore;

/// <summary>
/// A Kestrel beside the app's own, from the app's framework, without a host: it takes no signals, reads no settings and logs nothing of the app's. Whoever comes is
/// unknown to it; the controller asks for the key.
/// </summary>
internal sealed class InsideServer : IHttpApplication<HttpContext>, IDisposable
{
    readonly KestrelServer _server;
    readonly Forwarder _forwarder;

    public InsideServer(Controller controller, IReadOnlyList<string> urls)
    {
        _forwarder = new Forwarder(controller);
        var options = new KestrelServerOptions { AddServerHeader = false };
        foreach (var url in urls) options.Listen(EndPointOf(url));
        _server = new KestrelServer(Options.Create(options), new SocketTransportFactory(Options.Create(new SocketTransportOptions()), NullLoggerFactory.Instance), NullLoggerFactory.Instance);
        try { _server.StartAsync(this, CancellationToken.None).GetAwaiter().GetResult(); }
        catch
        {
            Dispose();
            throw;
        }
        Urls = [.. _server.Features.GetRequiredFeature<IServerAddressesFeature>().Addresses];
    }

    /// <summary>As they really are: with the ports that were free.</summary>
    public IReadOnlyList<string> Urls { get; }

    // `clrscope enable` has refused all but http on loopback.
    static IPEndPoint EndPointOf(string url)
    {
        var uri = new Uri(url);
        var address = uri.IsLoopback && uri.HostNameType == UriHostNameType.Dns ? IPAddress.Loopback : IPAddress.Parse(uri.Host.Trim('[', ']'));
        if (uri.Scheme != "http" || !IPAddress.IsLoopback(address)) throw new ControllerException($"{url} is not http on loopback");
        return new IPEndPoint(address, uri.Port);
    }

    public HttpContext CreateContext(IFeatureCollection contextFeatures) => new DefaultHttpContext(contextFeatures);

    public Task ProcessRequestAsync(HttpContext context) => _forwarder.HandleAsync(context, "", context.Request.Path.HasValue ? context.Request.Path.ToUriComponent() : "/", Caller.Unknown);

    public void DisposeContext(HttpContext context, Exception? exception) { }

    public void Dispose()
    {
        using var patience = new CancellationTokenSource(TimeSpan.FromMilliseconds(500));
        try { _server.StopAsync(patience.Token).GetAwaiter().GetResult(); }
        catch (OperationCanceledException) { } // whoever still reads is cut off
        _server.Dispose();
        _forwarder.Dispose();
    }
}
