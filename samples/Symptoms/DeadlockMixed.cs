using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

sealed class Register;

/// <summary>A thread holds a lock and blocks on a task; the pool thread that runs the task wants the lock.</summary>
static class DeadlockMixed
{
    public static void Run(Stage stage)
    {
        var register = new Register();
        int poolThread = 0;
        var worker = Stage.Start("closing", () => Close(register, () => Volatile.Write(ref poolThread, Os.ThreadId())));
        while (Volatile.Read(ref poolThread) == 0 && stage.Sleep(5)) { }
        Worker.AwaitBlocked([worker]);
        stage.Ready(new
        {
            lockType = typeof(Register).FullName,
            thread = worker.Identity,
            method = $"{typeof(DeadlockMixed).FullName}.{nameof(Close)}",
            cycle = new[] { worker.OsId, Volatile.Read(ref poolThread) },
            taskRuns = $"{typeof(DeadlockMixed).FullName}.{nameof(Total)}",
        });
        stage.WaitForEnd();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Close(Register register, Action started)
    {
        lock (register)
        {
            if (Task.Run(() => Total(register, started)).Result > 0) throw new InvalidOperationException("no deadlock");
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Total(Register register, Action started)
    {
        started();
        lock (register) return 1;
    }
}
