using System.Reflection;
using Xunit.Abstractions;
using Xunit.Sdk;

[assembly: Xunit.CollectionBehavior(DisableTestParallelization = true)] // what is enabled is process-wide

namespace Clrscope.Tests;

/// <summary>Runs the tests of this assembly on the runtime it was started with. The last line is "N passed, N failed, N skipped".</summary>
static class Runner
{
    public static int Run(string filter)
    {
        var framework = new XunitTestFramework(new Quiet());
        framework.SourceInformationProvider = new NoSources();
        var assembly = Assembly.GetExecutingAssembly();
        using var found = new Found(filter);
        using (var discoverer = framework.GetDiscoverer(Reflector.Wrap(assembly)))
        {
            discoverer.Find(includeSourceInformation: false, found, new Options());
            found.Finished.WaitOne();
        }
        using var results = new Results();
        using (var executor = framework.GetExecutor(assembly.GetName()))
        {
            executor.RunTests(found.Cases, results, new Options());
            results.Finished.WaitOne();
        }
        Console.WriteLine($"{results.Passed} passed, {results.Failed} failed, {results.Skipped} skipped");
        return results.Failed == 0 ? 0 : 1;
    }

    sealed class Options : ITestFrameworkDiscoveryOptions, ITestFrameworkExecutionOptions
    {
        readonly Dictionary<string, object?> _values = [];

        public TValue GetValue<TValue>(string name) => _values.TryGetValue(name, out var value) && value is TValue typed ? typed : default!;

        public void SetValue<TValue>(string name, TValue value) => _values[name] = value;
    }

    sealed class NoSources : ISourceInformationProvider
    {
        public ISourceInformation? GetSourceInformation(ITestCase testCase) => null;

        public void Dispose() { }
    }

    sealed class Quiet : IMessageSink
    {
        public bool OnMessage(IMessageSinkMessage message) => true;
    }

    sealed class Found(string filter) : IMessageSink, IDisposable
    {
        public readonly List<IXunitTestCase> Cases = [];
        public readonly ManualResetEvent Finished = new(false);

        public bool OnMessage(IMessageSinkMessage message)
        {
            if (message is ITestCaseDiscoveryMessage { TestCase: IXunitTestCase test } && test.DisplayName.Contains(filter, StringComparison.OrdinalIgnoreCase)) Cases.Add(test);
            if (message is IDiscoveryCompleteMessage) Finished.Set();
            return true;
        }

        public void Dispose() => Finished.Dispose();
    }

    sealed class Results : IMessageSink, IDisposable
    {
        public readonly ManualResetEvent Finished = new(false);
        public int Passed, Failed, Skipped;

        public bool OnMessage(IMessageSinkMessage message)
        {
            switch (message)
            {
                case ITestPassed passed:
                    ++Passed;
                    Console.WriteLine($"passed  {passed.Test.DisplayName} ({passed.ExecutionTime:0.00} s)");
                    break;
                case ITestSkipped skipped:
                    ++Skipped;
                    Console.WriteLine($"skipped {skipped.Test.DisplayName}: {skipped.Reason}");
                    break;
                case ITestFailed failed:
                    Fail(failed.Test.DisplayName, failed);
                    break;
                case IErrorMessage error:
                    Fail("runner", error);
                    break;
                case ITestAssemblyFinished:
                    Finished.Set();
                    break;
            }
            return true;
        }

        void Fail(string name, IFailureInformation failure)
        {
            ++Failed;
            Console.WriteLine($"FAILED  {name}");
            for (var i = 0; i < failure.Messages.Length; ++i) Console.WriteLine($"{failure.ExceptionTypes[i]}: {failure.Messages[i]}\n{failure.StackTraces[i]}");
        }

        public void Dispose() => Finished.Dispose();
    }
}
