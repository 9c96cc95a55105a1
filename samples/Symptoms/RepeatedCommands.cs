using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>
/// Requests that load an order and then each of its items with a command of its own, told as Entity Framework tells its
/// commands. With --healthy each loads all items with one command, and there are more requests.
/// </summary>
static class RepeatedCommands
{
    const int Items = 30;
    const string Begin = "Microsoft.EntityFrameworkCore.Database.Command.CommandExecuting";

    static readonly DiagnosticListener s_framework = new("Microsoft.EntityFrameworkCore");

    sealed record Command(string CommandText);
    sealed record Context(string ContextId);
    sealed record Executing(Command Command, Context Context);

    public static void Run(Stage stage)
    {
        var healthy = stage.Options.Has("healthy");
        long requests = 0;
        stage.Ready(new
        {
            healthy,
            commandsPerRequest = healthy ? 2 : Items + 1,
            method = $"{typeof(RepeatedCommands).FullName}.{(healthy ? nameof(LoadItems) : nameof(LoadItem))}",
        });
        stage.WaitForGo();
        stage.Work("requests", () => stage.Every(healthy ? 50 : 5, () =>
        {
            using var request = new Activity("Request").SetIdFormat(ActivityIdFormat.W3C).Start();
            LoadOrder(requests);
            if (healthy)
                LoadItems(requests);
            else
                for (var i = 0; i < Items; ++i) LoadItem(requests, i);
            ++requests;
        }));
        stage.FinishWork();
        stage.Done(new { requests });
    }

    // The library that a real program calls is not its own code, so each of these tells its command itself.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void LoadOrder(long order)
    {
        if (s_framework.IsEnabled(Begin)) s_framework.Write(Begin, Payload($"SELECT * FROM orders WHERE id = {order}"));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void LoadItems(long order)
    {
        if (s_framework.IsEnabled(Begin)) s_framework.Write(Begin, Payload($"SELECT * FROM items WHERE order_id = {order}"));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void LoadItem(long order, int item)
    {
        if (s_framework.IsEnabled(Begin)) s_framework.Write(Begin, Payload($"SELECT * FROM items WHERE order_id = {order} AND number = {item}"));
        Thread.Sleep(1);
    }

    static Executing Payload(string text) => new(new Command(text), new Context("one"));
}
