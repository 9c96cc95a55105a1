using System.Runtime.InteropServices;

namespace Clrscope.AspNetCore;

/// <summary>Finds the native program and makes it something that can be started: packages are unpacked without the executable bit.</summary>
internal static class NativeProgram
{
    const string Name = "clrscope";
    const UnixFileMode Executable = UnixFileMode.UserExecute | UnixFileMode.GroupExecute | UnixFileMode.OtherExecute;

    /// <summary>The path of a program that may be executed. <paramref name="folder"/> takes a copy when the mode of the one found cannot be changed.</summary>
    public static string Find(string? told, string folder)
    {
        if (told is not null)
        {
            if (!File.Exists(told)) throw new ControllerException($"program {told} does not exist", "set BinaryPath or CLRSCOPE_BINARY to the path of clrscope");
            return MadeExecutable(told, folder);
        }
        var places = Places().Distinct().ToList();
        var found = places.FirstOrDefault(File.Exists) ??
                    throw new ControllerException($"clrscope not found in {string.Join(", ", places.Take(4))}",
                        "the package carries it for linux-x64; elsewhere set BinaryPath or CLRSCOPE_BINARY");
        return MadeExecutable(found, folder);
    }

    static IEnumerable<string> Places()
    {
        var native = $"runtimes/linux-{RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant()}/native";
        // Where the host found the native files of packages.
        var searched = (AppContext.GetData("NATIVE_DLL_SEARCH_DIRECTORIES") as string ?? "").Split(':', StringSplitOptions.RemoveEmptyEntries);
        var own = Path.GetDirectoryName(typeof(NativeProgram).Assembly.Location);
        string[] folders = [.. searched, AppContext.BaseDirectory, Path.Combine(AppContext.BaseDirectory, native)];
        if (!string.IsNullOrEmpty(own)) // beside us, and where a package's own folders have it: lib/net8.0 is two below its top
            folders = [.. folders, own, Path.Combine(own, native), Path.GetFullPath(Path.Combine(own, "../..", native))];
        folders = [.. folders, .. (Environment.GetEnvironmentVariable("PATH") ?? "").Split(':', StringSplitOptions.RemoveEmptyEntries)];
        return folders.Select(f => Path.Combine(f, Name));
    }

    static string MadeExecutable(string path, string folder)
    {
        var mode = File.GetUnixFileMode(path);
        if ((mode & Executable) != 0) return path;
        try
        {
            File.SetUnixFileMode(path, mode | Executable);
            return path;
        }
        catch (Exception e) when (e is UnauthorizedAccessException or IOException)
        {
            var copy = Path.Combine(folder, Name);
            File.Copy(path, copy, overwrite: true);
            File.SetUnixFileMode(copy, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
            return copy;
        }
    }
}
