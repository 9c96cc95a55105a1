// Ten lines that send an app's collections, exceptions and counters to Graphite:
//   GraphiteInTenLines HOST PORT
using Clrscope;

using var graphite = new GraphiteWriter(args[0], int.Parse(args[1]), prefix: "shop.web1");
using var session = Session.Start(
    new SessionRequest
    {
        Providers = { "Microsoft-Windows-DotNETRuntime:gc+exception:Informational" },
        Counters = { "System.Runtime" },
    },
    graphite.OnEvent, graphite.OnCounter, new SessionOptions { QueueCapacity = 4096 });

// The app itself: it makes garbage, and fails now and then, until its input ends.
var over = Task.Run(Console.In.ReadToEnd);
for (var order = 0; !over.IsCompleted; ++order)
{
    var basket = new byte[50_000];
    try
    {
        if (order % 20 == 0) throw new InvalidOperationException($"order {order} has no customer");
    }
    catch (InvalidOperationException) { }
    if (order % 100 == 0) GC.Collect();
    GC.KeepAlive(basket);
    Thread.Sleep(1);
}
session.Dispose();
graphite.Dispose();
Console.WriteLine($"sent {graphite.Sent} lines, dropped {graphite.Dropped + session.Dropped}");
