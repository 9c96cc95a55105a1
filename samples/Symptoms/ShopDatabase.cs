using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace Samples.Symptoms;

/// <summary>
/// The shop's database: a server on a loopback socket that answers "DELAY-MS ROWS" with so many lines, the last of which is ".".
/// It knows nothing of the shop's requests: they reach it through the socket only.
/// </summary>
sealed class ShopDatabase : IDisposable
{
    readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    long _queries;

    public ShopDatabase()
    {
        _listener.Start();
        _ = Accept();
    }

    public IPEndPoint Address => (IPEndPoint)_listener.LocalEndpoint;
    public long Queries => Interlocked.Read(ref _queries);

    public void Dispose() => _listener.Stop();

    async Task Accept()
    {
        try
        {
            while (true) _ = Serve(await _listener.AcceptTcpClientAsync());
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // the end of the run
        }
    }

    async Task Serve(TcpClient client)
    {
        using var connection = client;
        client.NoDelay = true;
        using var reader = new StreamReader(client.GetStream());
        await using var writer = new StreamWriter(client.GetStream()) { NewLine = "\n" };
        try
        {
            while (await reader.ReadLineAsync() is { } query)
            {
                var numbers = query.Split(' ');
                await Task.Delay(int.Parse(numbers[0], CultureInfo.InvariantCulture));
                var rows = int.Parse(numbers[1], CultureInfo.InvariantCulture);
                for (var row = 0; row < rows; ++row) await writer.WriteLineAsync($"row {row}");
                await writer.WriteLineAsync(".");
                await writer.FlushAsync();
                Interlocked.Increment(ref _queries);
            }
        }
        catch (IOException)
        {
            // the shop has gone, or has given up on a query
        }
    }
}
