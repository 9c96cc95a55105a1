namespace Samples.Symptoms;

/// <summary>Waits for its end.</summary>
static class Idle
{
    public static void Run(Stage stage)
    {
        stage.Ready(new { healthy = true });
        stage.WaitForEnd();
    }
}
