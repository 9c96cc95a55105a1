using System.Net;
using System.Text.Json;
using Microsoft.EntityFrameworkCore;

// A shop whose requests ask a database: GET /orders?customer= answers the last twenty orders of a customer, /orders-one-by-one the slow way. One argument: the connection string.
var builder = WebApplication.CreateSlimBuilder();
builder.Logging.ClearProviders();
builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(IPAddress.Loopback, 0));
builder.Services.AddDbContextPool<ShopContext>(options => options.UseNpgsql(args[0]));
await using var app = builder.Build();

await using (var scope = app.Services.CreateAsyncScope())
{
    var shop = scope.ServiceProvider.GetRequiredService<ShopContext>();
    await shop.Database.EnsureCreatedAsync();
    if (!await shop.Orders.AnyAsync())
    {
        for (var i = 0; i < 5000; ++i)
        {
            shop.Orders.Add(new Order { Customer = i % 100, Item = $"item {i}", Price = i * 0.25m, Placed = DateTime.UnixEpoch.AddMinutes(i) });
        }
        await shop.SaveChangesAsync();
    }
}

app.MapGet("/orders", async (ShopContext shop, int? customer) =>
    await shop.Orders.Where(order => order.Customer == (customer ?? 7)).OrderByDescending(order => order.Placed).Take(20).ToListAsync());

app.MapGet("/orders-one-by-one", async (ShopContext shop, int? customer) =>
{
    var ids = await shop.Orders.Where(order => order.Customer == (customer ?? 7)).Select(order => order.Id).Take(20).ToListAsync();
    var orders = new List<Order>();
    foreach (var id in ids) orders.Add(await shop.Orders.AsNoTracking().SingleAsync(order => order.Id == id));
    return orders;
});

await app.StartAsync();
Console.WriteLine(JsonSerializer.Serialize(new { ready = true, pid = Environment.ProcessId, truth = new { address = app.Urls.First() } }));
await app.WaitForShutdownAsync();

sealed class Order
{
    public int Id { get; set; }
    public int Customer { get; set; }
    public string Item { get; set; } = "";
    public decimal Price { get; set; }
    public DateTime Placed { get; set; }
}

sealed class ShopContext(DbContextOptions<ShopContext> options) : DbContext(options)
{
    public DbSet<Order> Orders => Set<Order>();

    protected override void OnModelCreating(ModelBuilder model) =>
        model.Entity<Order>().HasIndex(order => order.Customer);
}
