using Clrscope.Tests;
using Xunit;

namespace Clrscope.AspNetCore.Tests;

public class PublicApiTests
{
    [Fact]
    public void IsWhatTheBaselineSays()
    {
        using var stream = typeof(PublicApiTests).Assembly.GetManifestResourceStream("PublicApi.txt")!;
        using var reader = new StreamReader(stream);
        // Wanted? tools/dotnet_tests --update-api writes the new baseline.
        Assert.Equal(reader.ReadToEnd().Split('\n'), PublicApi.Describe(typeof(ClrscopeOptions).Assembly).Split('\n'));
    }

    [Fact]
    public void NeedsNothingButTheFramework() =>
        Assert.All(typeof(ClrscopeOptions).Assembly.GetReferencedAssemblies(), name => Assert.Matches("^(System|Microsoft)\\.", name.Name));
}
