using Xunit;

namespace Clrscope.Tests;

public class PublicApiTests
{
    [Fact]
    public void IsWhatTheBaselineSays()
    {
        using var stream = typeof(PublicApiTests).Assembly.GetManifestResourceStream("PublicApi.txt")!;
        using var reader = new StreamReader(stream);
        // Wanted? tools/dotnet_tests --update-api writes the new baseline.
        Assert.Equal(reader.ReadToEnd().Split('\n'), PublicApi.Describe(typeof(Session).Assembly).Split('\n'));
    }

    [Fact]
    public void NeedsNothingButTheFramework() =>
        Assert.All(typeof(Session).Assembly.GetReferencedAssemblies(), name => Assert.StartsWith("System.", name.Name));
}
