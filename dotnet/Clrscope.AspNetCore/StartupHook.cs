using Clrscope.AspNetCore;

/// <summary>
/// The runtime calls this before Main (DOTNET_STARTUP_HOOKS), or in a running process when told over its diagnostic port (clrscope enable). In an app's own
/// copy of the package nobody calls it.
/// </summary>
// The runtime looks for this very name, in no namespace. What it throws would end the app: nothing may leave.
internal static class StartupHook
{
    public static void Initialize()
    {
        try
        {
            var folder = Path.GetDirectoryName(typeof(StartupHook).Assembly.Location);
            if (string.IsNullOrEmpty(folder)) return;
            if (EnableRequest.IsIn(folder)) new Thread(() => Enabled.Do(folder)) { IsBackground = true, Name = "clrscope enable" }.Start();
            else AtStart();
        }
        catch (Exception e)
        {
            Console.Error.WriteLine($"clrscope: the startup hook failed: {e.Message}");
        }
    }

    // ASP.NET then finds us by the name that we are loaded under already; hosts that take no hosting startup are found when they are built.
    static void AtStart()
    {
        System.Diagnostics.DiagnosticListener.AllListeners.Subscribe(new HostWatcher());
        const string Variable = "ASPNETCORE_HOSTINGSTARTUPASSEMBLIES";
        var own = typeof(StartupHook).Assembly.GetName().Name!;
        var named = Environment.GetEnvironmentVariable(Variable);
        if (named is not null && named.Split(';').Contains(own, StringComparer.OrdinalIgnoreCase)) return;
        Environment.SetEnvironmentVariable(Variable, string.IsNullOrEmpty(named) ? own : $"{named};{own}");
    }
}
