namespace Samples.Symptoms;

/// <summary>
/// Suspended chains HandleRequest → LoadCustomer → ReadRow. N of them wait for a TaskCompletionSource,
/// one for Task.Delay and one for a SemaphoreSlim. No thread runs for any of them.
/// </summary>
static class AsyncChain
{
    static readonly TaskCompletionSource<int> s_row = new(TaskCreationOptions.RunContinuationsAsynchronously);
    static readonly SemaphoreSlim s_door = new(0);
    static readonly List<Task<int>> s_chains = [];

    public static void Run(Stage stage)
    {
        var count = stage.Options.Plain(3);
        for (var i = 0; i < count; ++i) s_chains.Add(HandleRequest(i, s_row.Task));
        s_chains.Add(HandleRequest(count, Forever()));
        s_chains.Add(HandleRequest(count + 1, PassDoor()));

        string[] frames = [Name(nameof(ReadRow)), Name(nameof(LoadCustomer)), Name(nameof(HandleRequest))];
        stage.Ready(new
        {
            chains = new object[]
            {
                new { count, awaits = "TaskCompletionSource", frames },
                new { count = 1, awaits = "Task.Delay", frames = frames.Prepend(Name(nameof(Forever))) },
                new { count = 1, awaits = "SemaphoreSlim.WaitAsync", frames = frames.Prepend(Name(nameof(PassDoor))) },
            },
        });
        stage.WaitForEnd();
    }

    static string Name(string method) => $"{typeof(AsyncChain).FullName}.{method}";

    static async Task<int> HandleRequest(int id, Task<int> source) => id + await LoadCustomer(source);

    static async Task<int> LoadCustomer(Task<int> source) => 1 + await ReadRow(source);

    static async Task<int> ReadRow(Task<int> source) => 1 + await source;

    static async Task<int> Forever()
    {
        await Task.Delay(Timeout.Infinite);
        return 0;
    }

    static async Task<int> PassDoor()
    {
        await s_door.WaitAsync();
        return 0;
    }
}
