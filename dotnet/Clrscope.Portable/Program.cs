using System.Runtime.InteropServices;

// Packages are unpacked without the executable bit.
var program = Path.Combine(AppContext.BaseDirectory, "linux-x64", "clrscope-native");
const UnixFileMode Executable = UnixFileMode.UserExecute | UnixFileMode.GroupExecute | UnixFileMode.OtherExecute;
if ((File.GetUnixFileMode(program) & Executable) == 0) File.SetUnixFileMode(program, File.GetUnixFileMode(program) | Executable);
Libc.execv(program, [program, .. args, null]);
Console.Error.WriteLine($"clrscope: cannot start {program}: {Marshal.GetLastPInvokeErrorMessage()}");
return 1;

static class Libc
{
    [DllImport("libc", SetLastError = true)]
    public static extern int execv(string path, string?[] arguments);
}
