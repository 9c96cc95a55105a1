using Clrscope.Tests;

switch (args)
{
    case ["--print-api"]:
        Console.Write(PublicApi.Describe(typeof(Clrscope.Session).Assembly));
        return 0;
    case ["--tell"]:
        return Teller.Run();
    default:
        return await Xunit.Runner.InProc.SystemConsole.ConsoleRunner.Run(args);
}
