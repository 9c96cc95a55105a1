namespace Samples.Symptoms;

/// <summary>A session that keeps its own timer, and is kept by it.</summary>
sealed class Session
{
    readonly byte[] _state = new byte[500];
    readonly Timer _expiry;

    public Session() => _expiry = new Timer(OnExpiry, null, TimeSpan.FromHours(1), TimeSpan.FromHours(1));

    void OnExpiry(object? _)
    {
        ++_state[0];
        _expiry.Change(TimeSpan.FromHours(1), TimeSpan.FromHours(1));
    }
}

/// <summary>Sessions start a timer and are dropped without disposing it: the timer queue keeps them.</summary>
static class LeakTimer
{
    public static void Run(Stage stage) => Leak.Grow(stage, () => new Session(), new Leak.Truth(
        Type: typeof(Session).FullName!,
        Path: ["static System.Threading.TimerQueue", "System.Threading.TimerQueue", "System.Threading.TimerQueueTimer", "System.Threading.TimerCallback", typeof(Session).FullName!]));
}
