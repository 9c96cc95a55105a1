namespace Samples.Symptoms;

static class Ticker
{
    public static event EventHandler? Tick;

    public static void Raise() => Tick?.Invoke(null, EventArgs.Empty);
}

sealed class Dashboard
{
    readonly byte[] _pixels = new byte[500];

    public void OnTick(object? sender, EventArgs e) => ++_pixels[0];
}

/// <summary>Dashboards subscribe to a static event and are dropped without leaving it.</summary>
static class LeakEvent
{
    public static void Run(Stage stage) => Leak.Grow(stage, Add, new Leak.Truth(
        Type: typeof(Dashboard).FullName!,
        Path: [$"static {typeof(Ticker).FullName}.{nameof(Ticker.Tick)}", "System.EventHandler", "System.Object[]", "System.EventHandler", typeof(Dashboard).FullName!]));

    static Dashboard Add()
    {
        var dashboard = new Dashboard();
        Ticker.Tick += dashboard.OnTick;
        return dashboard;
    }
}
