using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Samples.Symptoms;

/// <summary>Starts another program; with --become it is another program itself afterwards, under the same process id.</summary>
static class Children
{
    public static void Run(Stage stage)
    {
        var program = stage.Options.Text("program", "/bin/true");
        var become = stage.Options.Text("become", "");
        stage.Ready(new { program, become });
        stage.WaitForGo();
        if (stage.Ending) return;
        using var child = Process.Start(new ProcessStartInfo(program) { UseShellExecute = false })!;
        while (!child.WaitForExit(20) && !stage.Ending) { }
        if (!child.HasExited) child.Kill(entireProcessTree: true);
        else if (become != "") execv(become, [become, null]);
        stage.WaitForEnd();
    }

    [DllImport("libc")]
    static extern int execv(string path, string?[] arguments);
}
