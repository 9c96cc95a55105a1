using System.Net;
using Samples.Shop;

namespace Samples.Symptoms;

/// <summary>An ASP.NET shop whose requests are slow, async, parallel, busy, blocked, failing and cancelled in known ways.</summary>
static class ShopHost
{
    public static void Run(Stage stage)
    {
        using var shop = new ShopServer(stage.Options.Int("port", 0));
        stage.Ready(new { address = shop.Address, include = "Samples.Shop.*", routes = ShopServer.Routes });
        stage.WaitForEnd();
        stage.Done(new { queries = shop.Queries });
    }
}

/// <summary>The shop and its database, while it is not disposed.</summary>
sealed class ShopServer : IDisposable
{
    public static readonly string[] Routes =
    [
        "GET /health", "GET /products/{id}", "GET /catalog/{page}", "GET /orders/{id}", "POST /orders/{id}", "GET /dashboard/{user}", "GET /prices/{currency}",
        "GET /stock/{item}", "GET /reports/{name}", "GET /payments/{id}", "GET /search/{term}", "GET /feed/{topic}", "POST /newsletter/{topic}",
    ];

    readonly ShopDatabase _database = new();
    readonly WebApplication _app;

    public ShopServer(int port)
    {
        Database.Address = _database.Address;
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(kestrel => kestrel.Listen(IPAddress.Loopback, port));
        builder.Services.AddRouting();
        _app = builder.Build();
        _app.Use(ShopTruth.Serve);
        _app.MapGet("/health", Health.Check);
        _app.MapGet("/products/{id}", Products.GetAsync);
        _app.MapGet("/catalog/{page}", Products.ListAsync);
        _app.MapGet("/orders/{id}", Orders.GetAsync);
        _app.MapPost("/orders/{id}", Orders.PlaceAsync);
        _app.MapGet("/dashboard/{user}", Dashboards.ShowAsync);
        _app.MapGet("/prices/{currency}", Prices.Convert);
        _app.MapGet("/stock/{item}", Stock.Reserve);
        _app.MapGet("/reports/{name}", Reports.WriteAsync);
        _app.MapGet("/payments/{id}", Payments.ChargeAsync);
        _app.MapGet("/search/{term}", Search.FindAsync);
        _app.MapGet("/feed/{topic}", Search.FollowAsync);
        _app.MapPost("/newsletter/{topic}", Mail.Newsletter);
        _app.MapGet("/quotes/{currency}", Quotes.Compute);
        _app.MapGet("/campaigns/{topic}", Mail.Campaign);
        _app.MapPost("/archive/{topic}", Mail.Archive);
        _app.MapGet("/calls/{count}", Calls.Measure);
        _app.MapGet("/check", () => ProbesCheck.Run(1));
        _app.MapGet("/truth", (string? traceId) => ShopTruth.Tell(traceId));
        _app.StartAsync().GetAwaiter().GetResult();
    }

    public string Address => _app.Urls.First();
    public long Queries => _database.Queries;

    public void Dispose()
    {
        using (var grace = new CancellationTokenSource(TimeSpan.FromSeconds(1))) _app.StopAsync(grace.Token).GetAwaiter().GetResult();
        ((IDisposable)_app).Dispose();
        _database.Dispose();
    }
}
