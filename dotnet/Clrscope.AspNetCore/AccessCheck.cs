using System.Buffers.Binary;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;

namespace Clrscope.AspNetCore;

/// <summary>
/// Access when the app requires no authorization: only callers on this machine that run as the app's user or root, and not through a proxy or a web page of another site.
/// The kernel knows the user at the other end of a loopback connection.
/// </summary>
internal static class AccessCheck
{
    const string Hint = "call .RequireAuthorization() after MapClrscope to let the app decide, or .AllowAnonymous() to allow everyone";
    static readonly string[] s_proxyMarks = ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Original-For", "X-Real-IP", "Via"];
    static readonly object s_ownUser = new();

    /// <summary>Why this caller has no access, or null.</summary>
    public static (string What, string Hint)? Refusal(HttpContext context)
    {
        if (s_proxyMarks.FirstOrDefault(context.Request.Headers.ContainsKey) is { } mark)
            return ($"this request comes through a proxy ({mark}), and the app requires no authorization", Hint);
        var connection = context.Connection;
        if (connection.RemoteIpAddress is not { } remote || connection.LocalIpAddress is not { } local || !IPAddress.IsLoopback(Plain(remote)) || !IPAddress.IsLoopback(Plain(local)))
            return ("only callers on this machine have access, because the app requires no authorization", Hint);
        if (!NamesThisMachine(context.Request.Host.Host))
            return ($"{context.Request.Host.Host} is not a loopback host name", "use localhost, 127.0.0.1 or [::1]");
        if (!IsOwnUsers(context))
            return ("only the app's own user and root have access, because the app requires no authorization", Hint);
        return null;
    }

    /// <summary>
    /// Whether a page of another site made a browser send this, with whatever method: a GET records and stops threads too. A link of a person is handed on:
    /// the controller knows whether it leads to a page. Programs send none of these fields.
    /// </summary>
    public static bool ComesFromAnotherSite(HttpRequest request)
    {
        var headers = request.Headers;
        if (headers.TryGetValue("Sec-Fetch-Site", out var site))
        {
            var link = (HttpMethods.IsGet(request.Method) || HttpMethods.IsHead(request.Method)) && headers["Sec-Fetch-Mode"] == "navigate" && headers["Sec-Fetch-Dest"] == "document";
            return site != "same-origin" && site != "none" && !link;
        }
        if (!headers.TryGetValue("Origin", out var from) && !headers.TryGetValue("Referer", out from)) return false;
        return !Uri.TryCreate(from, UriKind.Absolute, out var page) || !string.Equals(page.Authority, request.Host.Value, StringComparison.OrdinalIgnoreCase);
    }

    /// <summary>A name that only this machine has: what a page of a foreign name resolves to does not matter then.</summary>
    public static bool NamesThisMachine(string host) =>
        host.Equals("localhost", StringComparison.OrdinalIgnoreCase) || (IPAddress.TryParse(host.Trim('[', ']'), out var address) && IPAddress.IsLoopback(address));

    static bool IsOwnUsers(HttpContext context)
    {
        var kept = context.Features.Get<IConnectionItemsFeature>()?.Items;
        if (kept is not null && kept.TryGetValue(s_ownUser, out var known)) return known is true;
        var c = context.Connection;
        var user = UserOf(new IPEndPoint(Plain(c.RemoteIpAddress!), c.RemotePort), new IPEndPoint(Plain(c.LocalIpAddress!), c.LocalPort));
        var own = user is 0 || (user is { } one && one == Native.UserId());
        if (kept is not null) kept[s_ownUser] = own;
        return own;
    }

    /// <summary>The user id behind the connection from <paramref name="client"/> to <paramref name="server"/>, both on this machine; null when it is not found.</summary>
    internal static uint? UserOf(IPEndPoint client, IPEndPoint server)
    {
        foreach (var table in (string[])["/proc/net/tcp", "/proc/net/tcp6"])
        {
            if (!File.Exists(table)) continue;
            foreach (var line in File.ReadLines(table).Skip(1))
            {
                var words = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
                if (words.Length > 7 && EndPoint(words[1]) is { } near && near.Equals(client) && EndPoint(words[2]) is { } far && far.Equals(server))
                    return uint.Parse(words[7], CultureInfo.InvariantCulture);
            }
        }
        return null;
    }

    // "0100007F:1F90": words of 32 bits as the processor has them, port in plain hexadecimal.
    static IPEndPoint? EndPoint(string text)
    {
        var colon = text.IndexOf(':');
        if (colon is not (8 or 32)) return null;
        var bytes = Convert.FromHexString(text.AsSpan(0, colon));
        for (var i = 0; i < bytes.Length; i += 4)
            BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan(i), BinaryPrimitives.ReadUInt32BigEndian(bytes.AsSpan(i)));
        return new IPEndPoint(Plain(new IPAddress(bytes)), int.Parse(text.AsSpan(colon + 1), NumberStyles.HexNumber, CultureInfo.InvariantCulture));
    }

    static IPAddress Plain(IPAddress address) => address.AddressFamily == AddressFamily.InterNetworkV6 && address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
}
