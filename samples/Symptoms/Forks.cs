using System.Runtime.InteropServices;

namespace Samples.Symptoms;

/// <summary>
/// Forks without another program: the child has one thread, stops itself, and ends when it is continued. No managed code runs in
/// the child but the calls themselves; it cannot use exit(), which the runtime does not survive there.
/// </summary>
static class Forks
{
    const int ExitCode = 7;
    const int StopSignal = 19, KillSignal = 9;
    const int EndWithParent = 1;

    public static void Run(Stage stage)
    {
        stage.Ready(new { exitCode = ExitCode });
        stage.WaitForGo();
        var status = 0;
        Marshal.PrelinkAll(typeof(Forks));  // the child has nothing to resolve
        var child = Fork();
        if (child == 0)
        {
            Control(EndWithParent, KillSignal);
            Raise(StopSignal);
            Exit(ExitCode);
        }
        Stage.Say(new { child });
        while (!stage.Ending && Wait(child, ref status, 1) == 0) stage.Sleep(10);
        if (stage.Ending && Kill(child, KillSignal) == 0) Wait(child, ref status, 0);  // it would stay stopped
        Stage.Say(new { ended = child, exitCode = status >> 8, signal = status & 127 });
        stage.WaitForEnd();
        stage.Done(new { child, exitCode = status >> 8, signal = status & 127 });
    }

    [DllImport("libc", EntryPoint = "fork"), SuppressGCTransition]
    static extern int Fork();
    [DllImport("libc", EntryPoint = "raise"), SuppressGCTransition]
    static extern int Raise(int signal);
    [DllImport("libc", EntryPoint = "_exit"), SuppressGCTransition]
    static extern void Exit(int code);
    [DllImport("libc", EntryPoint = "prctl"), SuppressGCTransition]
    static extern int Control(int what, long value);
    [DllImport("libc", EntryPoint = "kill")]
    static extern int Kill(int child, int signal);
    [DllImport("libc", EntryPoint = "waitpid")]
    static extern int Wait(int child, ref int status, int options);
}
