using Clrscope.AspNetCore.Tests;
using Clrscope.Tests;

switch (args)
{
    case ["--print-api"]:
        Console.Write(PublicApi.Describe(typeof(Clrscope.AspNetCore.ClrscopeOptions).Assembly));
        return 0;
    case ["--app"]:
        return await App.RunAsync();
    case ["serve", ..]:
        return await StandIn.RunAsync(args);
    default:
        return await Xunit.Runner.InProc.SystemConsole.ConsoleRunner.Run(args);
}
